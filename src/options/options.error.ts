/** Something that can't work as it was configured. The message has a line for each fault: the option, and what would be right. */
export abstract class OptionsError extends Error {
  /** @param owner whose options they are */
  constructor(owner: string, faults: readonly string[]) {
    super(`The options of ${owner} cannot be used:\n${faults.join('\n')}`);
  }
}
