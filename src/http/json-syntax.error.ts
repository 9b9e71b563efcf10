/** The text is not JSON. `position` counts UTF-16 code units from 0. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';

  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message);
  }
}
