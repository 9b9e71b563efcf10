/** What a command has done, or found, could not be printed. The message says what became of it. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}
