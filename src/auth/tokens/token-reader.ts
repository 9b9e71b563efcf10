import { once } from 'node:events';
import { Socket } from 'node:net';
import pg from 'pg';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { isRejection, READ_ONLY, sqlStateOf } from '../../database/database.errors.js';
import { DEFAULT_STORAGE_TIMEOUT } from '../../database/database.options.js';
import type { IssuedTokensOptions } from '../auth.options.js';

/** Limit of a statement: all are short, and while one hangs, a revocation goes unnoticed. */
export const STATEMENT_TIMEOUT_MS = 1000;
/** Limit of an attempt to connect, if the option `timeout` is not shorter. */
const MAX_CONNECT_TIMEOUT_MS = 5000;
/** The connection is closed when it was not used for so long. */
const IDLE_TIMEOUT_MS = 60_000;
/** Limit of the wait for a lock when a use is recorded: the next attempt comes soon. */
const LOCK_TIMEOUT_MS = 100;

/** An issued token. */
export interface TokenRow {
  readonly id: number;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds until it expires, by the database's clock; null if it never does. */
  readonly remaining: number | null;
  readonly isRevoked: boolean;
}

/**
 * The tokens in PostgreSQL, on one connection of their own. It opens with the first statement, is replaced when it breaks or does not
 * answer, keeps no state in its session, and does not keep the process from ending.
 */
export class TokenReader {
  private readonly openPool: () => pg.Pool;
  private pool: pg.Pool;
  private closing: Promise<unknown> | undefined;
  private readonly table: string;
  /** Of all connections, because a pool cannot give up a connection that does not answer. */
  private readonly sockets = new Set<Socket>();

  constructor({ url, password, schema: ownSchema, timeout = DEFAULT_STORAGE_TIMEOUT }: IssuedTokensOptions) {
    const { config, schema, isPooled } = parseDatabaseUrl(url, password, ownSchema);
    this.table = `${pg.escapeIdentifier(schema)}.access_tokens`;
    const settings: pg.PoolConfig = {
      ...config,
      max: 1,
      connectionTimeoutMillis: Math.min(timeout, MAX_CONNECT_TIMEOUT_MS),
      // On the server too: a statement that waits for a lock would outlive its connection. PgBouncer refuses it, by default.
      ...(!isPooled && { statement_timeout: STATEMENT_TIMEOUT_MS }),
      query_timeout: STATEMENT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      allowExitOnIdle: true,
      keepAlive: true,
      application_name: 'plant-store-tokens',
      stream: () => {
        const socket = new Socket();
        this.sockets.add(socket);
        return socket.once('close', () => this.sockets.delete(socket));
      },
    };
    // The next statement opens another connection; an event without a listener would end the process.
    this.openPool = () => new pg.Pool(settings).on('error', () => undefined);
    this.pool = this.openPool();
  }

  get isConnected(): boolean {
    return this.pool.idleCount > 0;
  }

  async find(digests: readonly Buffer[]): Promise<TokenRow[]> {
    // Each moment by itself: PostgreSQL before 17 cannot subtract from one that is infinite. The clock, and not the beginning of a
    // transaction, which may have waited for a lock.
    const sql = `SELECT id::float8 AS id, digest, name, COALESCE(scopes, '{}') AS scopes,
        (EXTRACT(EPOCH FROM expires_at) - EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()))::float8 * 1000::float8 AS remaining,
        revoked_at IS NOT NULL AS "isRevoked"
      FROM ${this.table} WHERE digest = ANY($1::bytea[])`;
    const { isConnected } = this;
    try {
      return (await this.pool.query<TokenRow>(sql, [digests])).rows;
    } catch (error) {
      // A connection may have broken since its last statement. A new one may work.
      if (!isConnected || isRejection(error as pg.DatabaseError)) throw error;
      return (await this.pool.query<TokenRow>(sql, [digests])).rows;
    }
  }

  /**
   * At most once a minute for each token, however many instances there are. It does not wait for the disk, and not long for a lock: then
   * it rejects, and nothing is recorded. It has no SKIP LOCKED and no volatile function, as the replicated table of a distributed engine
   * refuses them. The settings are local to the transaction.
   *
   * No look-up waits for it: it has a new connection, which then replaces the other one. So look-ups notice a change of the primary.
   * @param uses the last one of each token, `age` milliseconds ago
   */
  async recordUses(uses: readonly { id: number; age: number }[]): Promise<void> {
    // Sorted, so that two instances lock the rows in the same order.
    const values = uses
      .toSorted((one, other) => one.id - other.id)
      .map(
        ({ id, age }) => `(${id}::bigint, pg_catalog.now() - ${Math.round(age)}::float8 * interval '1 millisecond')`,
      );
    let unused = this.openPool();
    try {
      await unused.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};
      SET LOCAL synchronous_commit = off;
      UPDATE ${this.table} SET last_used_at = used.at FROM (VALUES ${values.join()}) AS used(id, at)
      WHERE access_tokens.id = used.id AND (last_used_at IS NULL OR last_used_at <= used.at - interval '1 minute')`);
      if (!this.pool.ending) [this.pool, unused] = [unused, this.pool];
    } catch (error) {
      // The server may not be the primary any more, and not hear of revocations.
      if (sqlStateOf(error) === READ_ONLY) this.destroySockets('the server is read-only');
      throw error;
    } finally {
      this.closing = close(unused).catch(() => undefined);
    }
  }

  /** Closes the connection for good, after the statement in flight. */
  async end(): Promise<void> {
    await Promise.all([this.closing, close(this.pool)]);
  }

  /** Gives the connection up for good, also in the middle of a statement. */
  destroy(): void {
    if (!this.pool.ending) void this.pool.end();
    this.destroySockets('the connection is given up');
  }

  private destroySockets(reason: string): void {
    // With a reason, pg fails a waiting statement at once.
    for (const socket of this.sockets) socket.destroy(new Error(reason));
  }
}

async function close(pool: pg.Pool): Promise<void> {
  // Or the session would outlast the promise of `end()`.
  const isClosed = pool.idleCount > 0 ? once(pool, 'remove') : undefined;
  await pool.end();
  await isClosed;
}
