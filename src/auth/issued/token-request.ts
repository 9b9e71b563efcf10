import type { IssuedToken } from './issued-token.js';

/** A request that waits for the verdict on its token. */
export class TokenRequest {
  readonly verdict: Promise<IssuedToken | undefined>;
  isSettled = false;
  private settle!: { resolve(token: IssuedToken | undefined): void; reject(error: Error): void };
  private readonly timer: NodeJS.Timeout;

  /**
   * @param network where it came from
   * @param timeout milliseconds that it waits
   * @param whenSettled is called once
   */
  constructor(
    readonly network: string,
    timeout: number,
    timeUp: () => Error,
    private readonly whenSettled: (request: TokenRequest) => void,
  ) {
    this.verdict = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    this.timer = setTimeout(() => {
      this.reject(timeUp());
    }, timeout).unref();
  }

  resolve(token: IssuedToken | undefined): void {
    if (this.leave()) this.settle.resolve(token);
  }

  reject(error: Error): void {
    if (this.leave()) this.settle.reject(error);
  }

  private leave(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    clearTimeout(this.timer);
    this.whenSettled(this);
    return true;
  }
}
