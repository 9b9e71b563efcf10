import type { StorePool } from '../prisma/store-pool.js';
import { Prisma } from '../prisma/generated/client.js'; // made by: npm run prisma:generate
import { escapeSchema, PrismaService } from '../prisma/prisma.service.js';
import { escapeControls, ExplainedError, quote, rootReasonOf } from '../util/text.js';
import { makeToken, tokenDigest } from './token-format.js';
import { TOKEN_STATE, type TokenState } from './token-lookup.js';

/** No other program is likely to use this number, which spells "PLTK". */
const LOCK_CLASS = 0x504c544b;
const TRANSACTION = { timeout: 10_000, maxWait: 10_000 };
/** It is shorter than the time limit of the transaction, so that the server rolls back first. */
const STATEMENT_TIMEOUT = Prisma.sql`SET LOCAL statement_timeout = 8000`;
/** A token that expires at infinity or after 9999 counts as one that never does. An expiry before 1970 becomes 1970. */
const TOKEN_COLUMNS = Prisma.sql`id::float8 AS id, name, COALESCE(scopes, '{}') AS scopes, created_at AS "createdAt",
  CASE WHEN expires_at < '9999-12-31'::timestamptz THEN GREATEST(expires_at, 'epoch'::timestamptz) END AS "expiresAt",
  last_used_at AS "lastUsedAt", ${Prisma.raw(TOKEN_STATE)} AS state`;

/** An access token without its digest. */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** Exact to the minute. */
  readonly lastUsedAt: Date | null;
  readonly state: TokenState;
}

/** A token, which is shown only now, and its record. */
export interface NewToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** Seconds from now by the clock of the database, or never. */
export type TokenExpiry = { readonly seconds: number } | 'never';

/** Access tokens could not be changed, or perhaps were. The message says why and what to do. */
class TokenError extends ExplainedError {
  override readonly name = 'TokenError';
}

type Transaction = Prisma.TransactionClient;

/**
 * Creates, lists, rotates and revokes access tokens. Citus replicates the table. It refuses volatile functions in a
 * change, so the moment is asked for before.
 */
export class TokensService {
  private readonly prisma: PrismaService;
  private readonly table: Prisma.Sql;

  constructor(pool: StorePool) {
    this.prisma = new PrismaService(pool);
    this.table = Prisma.raw(`"${escapeSchema(pool.schema)}"."access_tokens"`);
  }

  /** @throws TokenError if a token with this name is valid */
  create(name: string, scopes: readonly string[], expiry: TokenExpiry): Promise<NewToken> {
    return this.transaction(async (transaction) => {
      // After a rotation several tokens are valid for a while. The newest one stays longest.
      const valid = (await this.lock(transaction, name)).findLast(isValid);
      if (valid === undefined) return this.issue(transaction, name, scopes, expiry);
      const found = `a valid access token has the name ${name} already, with the id ${valid.id}`;
      const advice = `Rotate it (plant-store token rotate ${name}), revoke it (plant-store token revoke ${name}), or choose another name`;
      throw new TokenError(`${found}. ${advice}`);
    });
  }

  /** All tokens, ordered by name and id. Ended ones are included. */
  list(): Promise<TokenRecord[]> {
    return this.transaction((transaction) => this.find(transaction, Prisma.sql`true`));
  }

  /**
   * Makes a new token with the name, the scopes and the lifetime of the old one.
   * @param overlap seconds for which the old tokens stay valid at most; 0 revokes them
   * @throws TokenError if no token with this name is valid
   */
  rotate(name: string, overlap: number): Promise<NewToken & { replaced: TokenRecord[] }> {
    return this.transaction(async (transaction) => {
      const named = await this.lock(transaction, name);
      const old = named.filter(isValid);
      const newest = old.at(-1);
      if (newest === undefined) throw named.length > 0 ? ended(name) : unknown(name);
      const { scopes, createdAt, expiresAt } = newest;
      const life = expiresAt === null ? 'never' : { seconds: (expiresAt.getTime() - createdAt.getTime()) / 1000 };
      const made = await this.issue(transaction, name, scopes, life);
      const now = await nowIn(transaction);
      const end = later(now, overlap);
      const ids = idsOf(old);
      if (overlap === 0) await revokeAll(transaction, ids, now);
      else
        await transaction.accessToken.updateMany({
          where: { id: { in: ids }, OR: [{ expiresAt: null }, { expiresAt: { gt: end } }] },
          data: { expiresAt: end },
        });
      return { ...made, replaced: await this.findByIds(transaction, ids) };
    });
  }

  /**
   * Revokes the token with this id, or all valid tokens with this name. Returns them, or the ended ones.
   * @throws TokenError if there is no such token
   */
  revoke(nameOrId: string): Promise<TokenRecord[]> {
    return this.transaction(async (transaction) => {
      // A name is never an id. The UPDATE locks the one row of an id.
      const meant = await this.lock(transaction, nameOrId, Prisma.sql`OR id::text = ${nameOrId}::text`);
      if (meant.length === 0) throw unknown(nameOrId);
      const valid = meant.filter(isValid);
      if (valid.length === 0) return meant;
      await revokeAll(transaction, idsOf(valid), await nowIn(transaction));
      return this.findByIds(transaction, idsOf(valid));
    });
  }

  /**
   * Locks the name until the transaction ends, so changes to its tokens come one after the other. Then returns the
   * tokens with this name, and those that match `others`.
   */
  private async lock(transaction: Transaction, name: string, others = Prisma.empty): Promise<TokenRecord[]> {
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK_CLASS}::int, hashtext(${name}::text))`;
    return this.find(transaction, Prisma.sql`name = ${name}::text ${others}`);
  }

  /** `findMany` cannot read some times that were written by hand. */
  private find(transaction: Transaction, where: Prisma.Sql): Promise<TokenRecord[]> {
    return transaction.$queryRaw`SELECT ${TOKEN_COLUMNS} FROM ${this.table} WHERE ${where} ORDER BY name COLLATE "C", id`;
  }

  private async issue(
    transaction: Transaction,
    name: string,
    scopes: readonly string[],
    expiry: TokenExpiry,
  ): Promise<NewToken> {
    const token = makeToken();
    const now = await nowIn(transaction);
    const { id } = await transaction.accessToken.create({
      data: {
        name,
        digest: Uint8Array.from(tokenDigest(token)),
        scopes: [...scopes],
        createdAt: now,
        expiresAt: expiry === 'never' ? null : later(now, expiry.seconds),
      },
      select: { id: true },
    });
    const [record] = (await this.findByIds(transaction, [id])) as [TokenRecord];
    return { token, record };
  }

  private findByIds(transaction: Transaction, ids: readonly bigint[]): Promise<TokenRecord[]> {
    return this.find(transaction, Prisma.sql`id = ANY(${ids.map(String)}::bigint[])`);
  }

  private async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let isDone = false as boolean;
    try {
      return await this.prisma.$transaction(async (transaction) => {
        await transaction.$executeRaw(STATEMENT_TIMEOUT);
        const result = await work(transaction);
        isDone = true;
        return result;
      }, TRANSACTION);
    } catch (cause) {
      if (cause instanceof TokenError) throw cause;
      const reason = rootReasonOf(cause);
      if (!isDone) throw new TokenError(`access tokens cannot be used: ${reason}. Nothing was changed`, { cause });
      // The COMMIT was sent, but the database did not confirm it.
      const found = `outcome unknown, see plant-store token list: the database did not confirm the change (${reason})`;
      throw new TokenError(`${found}. Nobody has a token that it made: rotate or revoke it`, { cause });
    }
  }
}

/** The clock of the database decides, and not that of this process. */
async function nowIn(transaction: Transaction): Promise<Date> {
  const [row] = await transaction.$queryRaw<[{ now: Date }]>`SELECT statement_timestamp() AS now`;
  return row.now;
}

/** Days and months would depend on the time zone. */
function later(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

async function revokeAll(transaction: Transaction, ids: bigint[], now: Date): Promise<void> {
  await transaction.accessToken.updateMany({ where: { id: { in: ids } }, data: { revokedAt: now } });
}

function idsOf(records: readonly TokenRecord[]): bigint[] {
  return records.map(({ id }) => BigInt(id));
}

function isValid({ state }: TokenRecord): boolean {
  return state === 'valid';
}

function ended(name: string): TokenError {
  const shown = escapeControls(name);
  const advice = `Create one: plant-store token create ${shown}`;
  return new TokenError(`no access token with the name ${shown} is valid any more. ${advice}`);
}

function unknown(nameOrId: string): TokenError {
  const found = `there is no access token with the ${/^\d+$/.test(nameOrId) ? 'id' : 'name'} ${quote(nameOrId)}`;
  return new TokenError(`${found}. See plant-store token list for those that there are`);
}
