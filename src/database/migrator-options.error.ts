/** A `Migrator` that can't work as it was called. The message has a line for each fault: the option, and what would be right. */
export class MigratorOptionsError extends Error {
  override readonly name = 'MigratorOptionsError';

  constructor(faults: readonly string[]) {
    super(`The options of Migrator cannot be used:\n${faults.join('\n')}`);
  }
}
