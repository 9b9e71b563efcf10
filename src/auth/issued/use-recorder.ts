import { Logger } from '@nestjs/common';
import { reasonOf } from '../../util/text.js';
import type { IssuedToken } from './issued-token.js';
import type { TokenCache } from './token-cache.js';
import type { TokenStore } from './token-store.js';

/** Milliseconds until it is tried again, where the database would not have it. */
const RETRY_MS = 60_000;

/** Writes down when tokens were last used. Nothing depends on it, so it fails of nothing but a line in the log. */
export class UseRecorder {
  private readonly logger = new Logger(UseRecorder.name);
  private retryAt = 0;
  private failed = false;

  constructor(
    private readonly store: TokenStore,
    private readonly cache: TokenCache,
  ) {}

  /** @param forgotten tokens that are in the cache no more, such as revoked ones, of which it matters most */
  async record(forgotten: readonly IssuedToken[]): Promise<void> {
    if (performance.now() >= this.retryAt) await this.write(forgotten);
  }

  /** A last time. */
  async finish(): Promise<void> {
    if (this.store.isOpen) await this.write([]);
  }

  private async write(forgotten: readonly IssuedToken[]): Promise<void> {
    const tokens = [...forgotten, ...this.cache.all()].filter(({ isUseDue }) => isUseDue);
    if (tokens.length === 0) return;
    const now = performance.now();
    const uses = tokens.map((token) => token.lastUse(now));
    try {
      await this.store.recordUses(uses);
      tokens.forEach((token, index) => {
        token.recorded(now - (uses[index]?.age ?? 0));
      });
      this.failed = false;
    } catch (error) {
      if (!this.failed) this.logger.warn(`The last use of access tokens cannot be recorded: ${reasonOf(error)}`);
      this.failed = true;
      this.retryAt = performance.now() + RETRY_MS;
    }
  }
}
