/**
 * Milliseconds that a statement may take at first. All of them are short, and while one waits, or the connection has fallen silent
 * without a word, a revocation goes unnoticed.
 */
const FIRST_MS = 750;
/** Milliseconds without a slow answer after which statements may take no longer than at first. */
const CALM_MS = 5000;

/**
 * How long a statement may take: a short time, twice as long after each that ran out of it, as the database may be slow, and the short
 * time again when all answers have been fast for a while. One fast answer says little: another statement may be the slow one.
 */
export class StatementLimit {
  private readonly first: number;
  private limit: number;
  private slowAt = -Infinity;

  /** @param longest milliseconds that it is never longer than */
  constructor(private readonly longest: number) {
    this.first = Math.min(FIRST_MS, longest);
    this.limit = this.first;
  }

  get milliseconds(): number {
    return this.limit;
  }

  /** @param took milliseconds until the answer */
  answered(took: number): void {
    const now = performance.now();
    if (took > this.first / 2) this.slowAt = now;
    else if (now - this.slowAt >= CALM_MS) this.limit = this.first;
  }

  ranOut(): void {
    this.slowAt = performance.now();
    this.limit = Math.min(2 * this.limit, this.longest);
  }
}
