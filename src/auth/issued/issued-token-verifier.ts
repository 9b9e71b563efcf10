import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DEFAULT_TIMEOUT } from '../../database/database.options.js';
import { MigrationError } from '../../database/migrations/migration-status.js';
import { Migrator } from '../../database/migrations/migrator.js';
import { withinTime } from '../../util/timing.js';
import type { PlatformRequest } from '../../http/platform.js';
import { clientNetwork } from '../limits/client-network.js';
import type { Principal } from '../principal.js';
import { TokenVerifier } from '../token-verifier.js';
import { TRUST_MS } from './issued-token.js';
import type { IssuedTokensOptions } from '../auth.options.js';
import { TokenCache } from './token-cache.js';
import { TokenConnection } from './token-connection.js';
import { isWellFormedToken, resemblesToken } from './token-form.js';
import { tokenKey } from './token-key.js';
import type { TokenStore } from './token-store.js';
import { TokenStoreHealth } from './token-store-health.js';
import { TokenWatch } from './token-watch.js';
import { WaitingLookups } from './waiting-lookups.js';
import { UnknownTokens } from './unknown-tokens.js';

const MINUTE_MS = 60_000;
const ADVICE = `Those that were looked up before are valid for ${TRUST_MS / MINUTE_MS} more minutes, or until they expire.`;
/** Milliseconds that the end may take. */
const FAREWELL_MS = 1500;

/** Accepts the tokens that were issued and are neither expired nor revoked. */
export class IssuedTokenVerifier extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  private readonly cache = new TokenCache();
  private readonly unknown = new UnknownTokens();
  private readonly lookups: WaitingLookups;
  private readonly health = new TokenStoreHealth(new Logger(IssuedTokenVerifier.name), ADVICE);
  private readonly watch: TokenWatch;
  private stopped = false;

  /** Connects to nothing yet: only a token that may have been issued is worth a connection. */
  constructor(
    private readonly options: IssuedTokensOptions,
    private readonly store: TokenStore = new TokenConnection(options),
  ) {
    super();
    this.lookups = new WaitingLookups(options.timeout ?? DEFAULT_TIMEOUT);
    const { cache, unknown, lookups } = this;
    this.watch = new TokenWatch(store, { cache, unknown, lookups }, this.health);
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!resemblesToken(token)) return undefined;
    const key = tokenKey(token);
    const known = this.cache.get(key);
    if (known !== undefined) {
      const now = performance.now();
      if (now < known.validUntil) {
        known.usedAt = now;
        return known.principal;
      }
      if (known.isExpired(now)) return undefined;
    }
    // Only now, for it costs more than to find the token in the cache, where nothing malformed is.
    if (!isWellFormedToken(token) || this.unknown.has(key)) return undefined;
    return this.lookUp(key, request === undefined ? '' : clientNetwork(request as PlatformRequest));
  }

  /** Fails where the tokens can't be where the options say: else every request would be told that it may be tried again later. */
  async onModuleInit(): Promise<void> {
    const { url, password, schema } = this.options;
    try {
      await new Migrator({ url, password, schema }).assertCurrent();
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      throw new MigrationError(error.code, `issuedTokens of AuthModule: ${error.message}`, { cause: error.cause });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    try {
      await withinTime(this.watch.stop(), FAREWELL_MS, () => new Error('the database does not answer'));
    } catch {
      this.store.destroy();
    }
  }

  private async lookUp(key: string, network: string): Promise<Principal | undefined> {
    if (this.stopped) throw new Error('the application has shut down');
    const { refusal } = this.health;
    if (refusal !== undefined && !this.store.isOpen) throw refusal;
    const verdict = this.lookups.add(key, network);
    this.watch.start();
    return (await verdict)?.principal;
  }
}
