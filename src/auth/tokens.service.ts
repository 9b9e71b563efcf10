import type { Database } from '../database/database.js';
import { Prisma } from '../database/generated/client.js';
import { escapeSchema, PrismaService } from '../database/prisma.js';
import { escapeControls, ExplainedError, quote, rootReasonOf } from '../util/text.js';
import { makeToken, tokenDigest } from './token-format.js';

/** Any number that no other program is likely to use; this one spells "PLTK". */
const LOCK_CLASS = 0x504c544b;
const TRANSACTION = { isolationLevel: 'ReadCommitted', timeout: 10_000, maxWait: 10_000 } as const;
/**
 * Prisma's adapter writes and reads times without their offset. A change that is reported must be on disk, whatever the role's default.
 * The limit is shorter than that of the transaction, so that the server undoes what comes too late.
 */
const SETTINGS = Prisma.sql`SELECT set_config('TimeZone'::text, 'UTC'::text, true), set_config('DateStyle'::text, 'ISO'::text, true),
  set_config('statement_timeout'::text, '8000'::text, true), set_config('synchronous_commit'::text,
    CASE current_setting('synchronous_commit'::text) WHEN 'remote_apply'::text THEN 'remote_apply'::text ELSE 'on'::text END, true)`;
const ID = /^[1-9]\d{0,17}$/;

/** An access token without its digest. */
export interface TokenRecord {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  /** Null if it never expires. */
  readonly expiresAt: Date | null;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** By the database's clock. */
  readonly state: 'valid' | 'expired' | 'revoked';
}

/** A token, which is shown only now, and what is stored of it. */
export interface NewToken {
  readonly token: string;
  readonly record: TokenRecord;
}

/** When a token ends: that many seconds from now by the database's clock, at a moment, or never. */
export type TokenExpiry = { readonly seconds: number } | { readonly at: Date } | 'never';

/** A change of access tokens is not possible, or may have happened. The message says why, and what to do. */
export class TokenError extends ExplainedError {
  override readonly name = 'TokenError';
}

type Transaction = Prisma.TransactionClient;

/** Creates, lists, rotates and revokes access tokens. On a distributed engine the table is replicated: a statement that changes it has no volatile function. */
export class TokensService {
  private readonly prisma: PrismaService;
  private readonly table: string;

  constructor(database: Database) {
    this.prisma = new PrismaService(database);
    this.table = `"${escapeSchema(database.schema)}"."access_tokens"`;
  }

  /** @throws TokenError if a token of that name is valid, or this one would not be */
  create(name: string, scopes: readonly string[], expiry: TokenExpiry): Promise<NewToken> {
    return this.transaction(async (transaction) => {
      const { named, now } = await this.lock(transaction, name);
      // A rotation leaves several for a while: the newest one lasts.
      const valid = named.findLast(isValid);
      if (valid === undefined) return issue(transaction, { name, scopes }, expiry, now);
      const found = `a valid access token has the name ${name} already, with the id ${valid.id}`;
      const advice = `Rotate it (plant-store token rotate ${name}), revoke it (plant-store token revoke ${name}), or choose another name`;
      throw new TokenError(`${found}. ${advice}`);
    });
  }

  /** All tokens, ended ones too, by name and then by id. */
  list(): Promise<TokenRecord[]> {
    return this.transaction((transaction) => this.find(transaction));
  }

  /**
   * Makes another token of the same name and scopes, and of as long a life as the old one unless given.
   * @param overlap seconds for which the old ones stay valid, at most; with 0 they are revoked
   * @throws TokenError if no token of that name is valid, or the new one would not be
   */
  rotate(name: string, overlap: number, expiry?: TokenExpiry): Promise<NewToken & { replaced: TokenRecord[] }> {
    return this.transaction(async (transaction) => {
      const { named, now } = await this.lock(transaction, name);
      const old = named.filter(isValid);
      const newest = old.at(-1);
      if (newest === undefined) throw named.length > 0 ? ended(name) : unknown(name);
      const made = await issue(transaction, newest, expiry ?? lifeOf(newest), now);
      const replaced = await (overlap > 0
        ? expire(transaction, old, after(now, overlap))
        : revoke(transaction, old, now));
      return { ...made, replaced };
    });
  }

  /**
   * Revokes one token by its id, or all valid ones of a name. Returns the revoked ones (there may be none), and those that had
   * ended before. @throws TokenError if there is no such token at all
   */
  revoke(nameOrId: string): Promise<{ revoked: TokenRecord[]; ended: TokenRecord[] }> {
    return this.transaction(async (transaction) => {
      const id = ID.test(nameOrId) ? Number(nameOrId) : undefined;
      const owner =
        id !== undefined && (await transaction.accessToken.findUnique({ where: { id }, select: { name: true } }));
      const { named, now } = await this.lock(transaction, owner ? owner.name : nameOrId);
      const meant = named.filter((record) => id === undefined || record.id === id);
      if (meant.length === 0) throw unknown(nameOrId);
      const revoked = await revoke(transaction, meant.filter(isValid), now);
      return { revoked, ended: meant.filter((record) => !isValid(record)) };
    });
  }

  /** Has the changes to the tokens of one name happen one after the other. `now` is the database's time behind the wait for that. */
  private async lock(transaction: Transaction, name: string): Promise<{ named: TokenRecord[]; now: Date }> {
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK_CLASS}::int, hashtext(${name}::text))`;
    const [{ now }] = await transaction.$queryRaw<[{ now: Date }]>`SELECT statement_timestamp() AS now`;
    return { named: await this.find(transaction, name), now };
  }

  /** The tokens of a name, or all. Not by `findMany`, which cannot read moments that a row written by hand may have. */
  private find(transaction: Transaction, name: string | null = null): Promise<TokenRecord[]> {
    const from = Prisma.raw(`FROM ${this.table}`);
    // What ends at infinity, or after the years that Date reads, never does. What ended before 1970 has ended then.
    return transaction.$queryRaw<
      TokenRecord[]
    >`SELECT id::float8 AS id, name, COALESCE(scopes, '{}') AS scopes, created_at AS "createdAt",
        CASE WHEN expires_at < '9999-12-31'::timestamptz THEN GREATEST(expires_at, 'epoch'::timestamptz) END AS "expiresAt",
        last_used_at AS "lastUsedAt", revoked_at AS "revokedAt",
        CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= statement_timestamp() THEN 'expired' ELSE 'valid' END AS state
      ${from} WHERE ${name}::text IS NULL OR name = ${name}::text ORDER BY name COLLATE "C", id`;
  }

  private async transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    let isDone = false as boolean;
    try {
      return await this.prisma.$transaction(async (transaction) => {
        await transaction.$queryRaw(SETTINGS);
        const result = await work(transaction);
        isDone = true;
        return result;
      }, TRANSACTION);
    } catch (cause) {
      if (cause instanceof TokenError) throw cause;
      const reason = rootReasonOf(cause);
      if (!isDone) throw new TokenError(`access tokens cannot be used: ${reason}. Nothing was changed`, { cause });
      // The commit was sent, and its answer is missing or no success.
      const found = `outcome unknown, see plant-store token list: the database did not confirm the change (${reason})`;
      throw new TokenError(`${found}. Nobody has a token that it made: rotate or revoke it`, { cause });
    }
  }
}

async function issue(
  transaction: Transaction,
  { name, scopes }: Pick<TokenRecord, 'name' | 'scopes'>,
  expiry: TokenExpiry,
  createdAt: Date,
): Promise<NewToken> {
  const expiresAt = endOf(expiry, createdAt);
  if (expiresAt !== null && expiresAt <= createdAt)
    throw new TokenError('the access token would have expired already: its end must be in the future');
  const token = makeToken();
  const digest = Uint8Array.from(tokenDigest(token));
  const data = { name, digest, scopes: [...scopes], createdAt, expiresAt };
  const { id } = await transaction.accessToken.create({ data, select: { id: true } });
  const record = { id: Number(id), name, scopes, createdAt, expiresAt, lastUsedAt: null, revokedAt: null };
  return { token, record: { ...record, state: 'valid' } };
}

async function revoke(transaction: Transaction, records: TokenRecord[], now: Date): Promise<TokenRecord[]> {
  const ids = records.map(({ id }) => id);
  await transaction.accessToken.updateMany({ where: { id: { in: ids } }, data: { revokedAt: now } });
  return records.map((record) => ({ ...record, revokedAt: now, state: 'revoked' }));
}

/** They expire at that moment, or when they would have anyway. */
async function expire(transaction: Transaction, records: TokenRecord[], end: Date): Promise<TokenRecord[]> {
  const isLonger = ({ expiresAt }: TokenRecord): boolean => expiresAt === null || expiresAt > end;
  const ids = records.filter(isLonger).map(({ id }) => id);
  await transaction.accessToken.updateMany({ where: { id: { in: ids } }, data: { expiresAt: end } });
  return records.map((record) => (isLonger(record) ? { ...record, expiresAt: end } : record));
}

/** In seconds, as the length of days and months depends on the time zone. */
function after(now: Date, seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

function endOf(expiry: TokenExpiry, now: Date): Date | null {
  if (expiry === 'never') return null;
  return 'at' in expiry ? expiry.at : after(now, expiry.seconds);
}

function lifeOf({ createdAt, expiresAt }: TokenRecord): TokenExpiry {
  return expiresAt === null ? 'never' : { seconds: (expiresAt.getTime() - createdAt.getTime()) / 1000 };
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
