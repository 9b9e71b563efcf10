import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { withConnection, withTimeout } from '../database/connection.js';
import { parseDatabaseUrl } from '../database/database-url.js';
import {
  DatabaseTimeoutError,
  lacksPrivilege,
  ReadOnlyServerError,
  rootReasonOf,
} from '../database/database.errors.js';
import { DEFAULT_STORAGE_TIMEOUT } from '../database/database.options.js';
import { UrlPool } from '../database/store-pool.js';
import { assertMigrated } from '../database/table-checks.js';
import { overloaded } from '../errors/api-error.js';
import { quote } from '../util/text.js';
import type { IssuedTokensOptions } from './auth.options.js';
import { ISSUED_TOKEN, TOKEN_PREFIX, tokenDigest } from './token-format.js';
import { noteRefusal, type Principal, TokenVerifier } from './token-verifier.js';
import { TOKEN_STATE, tokenTable, type TokenState } from './tokens.repository.js';

/** A revocation takes effect within this time, so an answer of the database counts no longer. */
const MAX_AGE_MS = 2000;
/** From this age on, a use has the token looked up again, and does not wait for it. */
const FRESH_MS = 1000;
/** Short, as one silent connection holds all look-ups. Connecting has the whole time limit of a request. */
const ANSWER_TIMEOUT_MS = 1000;
const RETRY_MS = 100;
const MAX_WAITING = 10_000;
/** Last uses are exact to this time, and a token that was used is in use for so long. */
const MINUTE_MS = 60_000;

interface TokenRow extends Principal {
  readonly id: string;
  readonly digest: string;
  readonly state: TokenState;
  /** Milliseconds until it expires by the clock of the database; null if it never does. */
  readonly remaining: number | null;
  /** The time of the revocation or else of the expiry, for people. */
  readonly end: string | null;
  readonly isUseDue: boolean;
  readonly isReadOnly: boolean;
}

/** A valid token. Times are those of `performance.now()`. */
interface KnownToken extends Readonly<{ principal: Principal; askedAt: number; expiresAt: number }> {
  isBeingRenewed: boolean;
}

/** Accepts issued tokens. It looks them up together, one statement at a time: a flood of wrong ones holds up nobody. */
export class IssuedTokenVerifier extends TokenVerifier implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(IssuedTokenVerifier.name);
  /** By digest. */
  private readonly known = new Map<string, KnownToken>();
  /** Digests of the tokens that the next statement asks for. */
  private readonly waiting = new Set<string>();
  private next: Promise<TokenRow[] | undefined> | undefined;
  private previous: Promise<unknown> = Promise.resolve();
  private recordAt = -Infinity;
  /** Why the last look-up failed. */
  private failure: string | undefined;

  constructor(
    private readonly options: IssuedTokensOptions,
    private readonly pool: Pick<UrlPool, 'execute' | 'onApplicationShutdown' | 'schema'> = new UrlPool({
      ...options,
      // The second is for the time in which a silent one is being closed.
      size: 2,
      answerTimeout: ANSWER_TIMEOUT_MS,
      name: 'plant-store-tokens',
    }),
  ) {
    super();
  }

  /** Without the check, requests would get 50300. */
  async onModuleInit(): Promise<void> {
    const { url, password, schema } = this.options;
    const database = parseDatabaseUrl(url, password, schema);
    await withConnection(database, (query) => assertMigrated(query, database));
  }

  onApplicationShutdown(): Promise<void> {
    return this.pool.onApplicationShutdown();
  }

  /** Seconds until the first token in use expires; Infinity if none does. */
  get secondsToNextExpiry(): number {
    const now = performance.now();
    const inUse = [...this.known.values()].filter(({ askedAt }) => askedAt > now - MINUTE_MS);
    return (Math.min(...inUse.map(({ expiresAt }) => expiresAt)) - now) / 1000;
  }

  verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined {
    if (!ISSUED_TOKEN.test(token)) {
      const found = `It has ${token.length} characters, should be ${TOKEN_PREFIX} and 38 letters and digits`;
      if (token.startsWith(TOKEN_PREFIX)) noteRefusal(request, `An access token was refused. ${found}`);
      return undefined;
    }
    const digest = tokenDigest(token);
    const known = this.known.get(digest);
    const now = performance.now();
    if (!known || now >= known.askedAt + MAX_AGE_MS || now >= known.expiresAt) return this.decide(digest, request);
    if (now >= known.askedAt + FRESH_MS && !known.isBeingRenewed) {
      known.isBeingRenewed = true;
      this.decide(digest).catch(() => undefined);
    }
    return known.principal;
  }

  private async decide(digest: string, request?: unknown): Promise<Principal | undefined> {
    const { timeout = DEFAULT_STORAGE_TIMEOUT } = this.options;
    const row = await withTimeout(this.find(digest, performance.now() + timeout), timeout, () => this.late());
    if (row?.state === 'valid') return principalOf(row);
    const found = row && `${quote(row.name)} with the id ${row.id} is ${row.state} since ${String(row.end)}`;
    noteRefusal(request, `An access token was refused. ${found ?? 'The database does not have it'}`);
    return undefined;
  }

  private async find(digest: string, deadline: number): Promise<TokenRow | undefined> {
    if (this.waiting.size >= MAX_WAITING && !this.known.has(digest))
      throw overloaded(new Error(`${MAX_WAITING} access tokens wait for a look-up`));
    this.waiting.add(digest);
    const rows = await (this.next ??= this.lookUpNext());
    if (rows !== undefined) return rows.find((row) => row.digest === digest);
    if (performance.now() < deadline) return this.find(digest, deadline);
    throw this.late();
  }

  private late(): Error {
    return new DatabaseTimeoutError(this.failure ?? 'no answer came in time');
  }

  /** Later requests wait for another statement: this one may read before they come. */
  private lookUpNext(): Promise<TokenRow[] | undefined> {
    const answer = this.previous.then(() => {
      const digests = [...this.waiting];
      this.waiting.clear();
      this.next = undefined;
      return this.lookUp(digests);
    });
    this.previous = answer.then((rows) => rows && this.recordUses(rows));
    return answer;
  }

  /** Fails on a standby and an old primary: they may not hear of a revocation. The next connection may lead away. */
  private async lookUp(digests: readonly string[]): Promise<TokenRow[] | undefined> {
    // Times are numbers here: PostgreSQL before 17 cannot subtract infinity. A row written by hand may lack scopes.
    const sql = `SELECT token.*,
        pg_is_in_recovery() OR current_setting('transaction_read_only'::text) = 'on'::text AS "isReadOnly"
      FROM (VALUES (1)) AS always LEFT JOIN (
        SELECT id::text AS id, encode(digest, 'hex'::text) AS digest, name, COALESCE(scopes, '{}') AS scopes,
          (EXTRACT(EPOCH FROM expires_at) - EXTRACT(EPOCH FROM clock_timestamp()))::float8 * 1000::float8 AS remaining,
          ${TOKEN_STATE} AS state, COALESCE(revoked_at, expires_at)::text AS "end",
          COALESCE(last_used_at < clock_timestamp() - interval '1 minute', true) AS "isUseDue"
        FROM ${tokenTable(this.pool.schema)} WHERE digest = ANY($1::bytea[])) AS token ON true`;
    // Connecting may take long, so an answer is as old as its statement.
    let askedAt = -Infinity;
    const verify = ([row]: TokenRow[], sentAt: number): void => {
      if (row?.isReadOnly === true) throw new ReadOnlyServerError();
      askedAt = sentAt;
    };
    try {
      const rows = await this.pool.execute(sql, [digests.map((digest) => `\\x${digest}`)], verify);
      // This process stalled.
      if (performance.now() > askedAt + MAX_AGE_MS) return undefined;
      if (this.failure !== undefined) this.logger.log('Access tokens can be looked up again');
      this.failure = undefined;
      for (const digest of digests) this.known.delete(digest);
      for (const row of rows.filter(({ state }) => state === 'valid')) {
        const expiresAt = askedAt + (row.remaining ?? Infinity);
        this.known.set(row.digest, { principal: principalOf(row), askedAt, expiresAt, isBeingRenewed: false });
      }
      for (const [unused, { askedAt: usedAt }] of this.known)
        if (usedAt < askedAt - MINUTE_MS) this.known.delete(unused);
      return rows;
    } catch (error) {
      const reason = rootReasonOf(error) + (lacksPrivilege(error) ? ': plant-store migrate gives the right' : '');
      const meanwhile = 'Until they can, requests with them wait, and are then answered with 50300';
      if (reason !== this.failure) this.logger.warn(`Access tokens cannot be looked up: ${reason}. ${meanwhile}`);
      this.failure = reason;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      return undefined;
    }
  }

  /** It does not wait for the disk, and only shortly for a lock. Citus refuses SKIP LOCKED on replicated tables. */
  private async recordUses(rows: readonly TokenRow[]): Promise<void> {
    const ids = rows.filter(({ state, isUseDue }) => state === 'valid' && isUseDue).map(({ id }) => id);
    if (ids.length === 0 || performance.now() < this.recordAt) return;
    const sql = `SET LOCAL lock_timeout = 100; SET LOCAL synchronous_commit = off;
      UPDATE ${tokenTable(this.pool.schema)} SET last_used_at = now() WHERE id IN (${ids.join()})`;
    await this.pool.execute(sql).catch((error: unknown) => {
      this.recordAt = performance.now() + MINUTE_MS;
      this.logger.warn(`The last use of access tokens cannot be recorded: ${rootReasonOf(error)}`);
    });
  }
}

function principalOf({ name, scopes }: TokenRow): Principal {
  return Object.freeze({ name, scopes: Object.freeze(scopes) });
}
