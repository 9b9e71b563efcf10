import type { Logger } from '@nestjs/common';
import { reasonOf } from '../../util/text.js';

/** Milliseconds from the second failure in a row to the next attempt; doubled with each. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 1000;
/** Milliseconds that the first attempt to connect may take; doubled with each that fails. */
const FIRST_LIMIT_MS = 1000;

/** Whether the tokens' database can be asked, when to try again where it can't, and a line in the log for each turn. */
export class TokenStoreHealth {
  /** When a connection may be tried again. */
  retryAt = 0;
  private failures = 0;
  private lastError: Error | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly advice: string,
  ) {}

  /** Why there is no use in waiting now. */
  get refusal(): Error | undefined {
    return performance.now() < this.retryAt ? this.lastError : undefined;
  }

  /**
   * Milliseconds that the next attempt to connect may take: few, as one that hangs holds up what the next one would tell of
   * revoked tokens, and more each time, as a database may be slow to let anybody in.
   */
  get connectLimit(): number {
    return FIRST_LIMIT_MS * 2 ** Math.min(this.failures, 20);
  }

  worked(): void {
    if (this.failures > 0) this.logger.log('Access tokens can be looked up again.');
    this.failures = 0;
    this.retryAt = 0;
    this.lastError = undefined;
  }

  failed(error: Error): void {
    if (this.failures === 0) {
      this.logger.warn(`Access tokens cannot be looked up: ${reasonOf(error)}. ${this.advice}`);
    }
    this.lastError = error;
    // Most connections that break can be replaced at once.
    const delay = this.failures === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** (this.failures - 1), LONGEST_DELAY_MS);
    this.failures += 1;
    this.retryAt = performance.now() + delay;
  }
}
