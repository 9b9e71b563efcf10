/** The configuration cannot be used. `faults` holds one line for each fault: the variable, what is wrong, what would be right. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(
    readonly faults: readonly string[],
    options?: ErrorOptions,
  ) {
    super(`The configuration cannot be used:\n${faults.join('\n')}`, options);
  }
}
