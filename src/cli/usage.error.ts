/** The command line was used wrongly. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** Of the command that was called. */
  usage = '';
}
