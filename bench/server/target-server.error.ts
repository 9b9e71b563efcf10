/** A target that did not start, or has ended, and what it said last. */
export class TargetServerError extends Error {
  override readonly name = 'TargetServerError';

  constructor(target: string, what: string, output: string) {
    const said = output.trim().split('\n').at(-1)?.trim() ?? '';
    super(`${target} ${what}${said === '' ? '' : `: ${said.slice(0, 300)}`}`);
  }
}
