import pg from 'pg';
import { escapeControls, quote, reasonOf } from '../../util/text.js';
import {
  dateOf,
  moment,
  type NewToken,
  NOW,
  ROW,
  TokenAdministrationError,
  type TokenExpiry,
  tokenRecord,
  type TokenRecord,
  type TokenRecordRow,
} from './token-record.js';
import { makeToken, tokenDigest } from './token.js';

/** Any number that no other program is likely to use; this one spells "PLTK". */
const LOCK_CLASS = 0x504c544b;
/**
 * They replace the role's defaults: a change must see the one that it has waited for, and be on disk when it is reported. The limit is
 * shorter than that of the connection, so that the server undoes what comes too late.
 */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = 8000`;

/** In seconds, as the length of days and months depends on the session's time zone. */
const after = (time: Date, seconds: number): Date => dateOf(time.getTime() / 1000 + seconds);
const validAt = (time: string): string => `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${time})`;
const isValid = ({ state }: TokenRecord): boolean => state === 'valid';
const idsOf = (records: readonly TokenRecord[]): number[] => records.map(({ id }) => id);

/** What tokens of one name have in common. */
type TokenProperties = Pick<TokenRecord, 'name' | 'scopes'>;

/** One token, or all tokens of a name. */
type TokenTarget = { readonly id: string } | { readonly name: string };

/**
 * Creates, lists, revokes and rotates access tokens, on a connection to the database that has the store's tables. On a distributed
 * engine the table is replicated: a statement that changes it may use immutable functions only, so that it takes the moment as a parameter,
 * and returns ids.
 */
export class TokenAdministration {
  /** What was changed, or may have been if the outcome is unknown. */
  readonly changed: TokenRecord[] = [];
  private readonly table: string;

  constructor(
    private readonly client: pg.ClientBase,
    private readonly schema: string,
  ) {
    this.table = `${pg.escapeIdentifier(schema)}.access_tokens`;
  }

  /** @throws TokenAdministrationError if a token of that name is valid, or this one would not be */
  create(name: string, scopes: readonly string[], expiry: TokenExpiry): Promise<NewToken> {
    const advice = `If it has a new valid one with the name ${name}, nobody has that: rotate or revoke it`;
    return this.transaction(name, advice, async (now) => {
      // A rotation leaves several for a while: the newest one lasts.
      const valid = (await this.named(name)).findLast(isValid);
      if (valid) {
        throw new TokenAdministrationError(
          'duplicate',
          `a valid access token has the name ${name} already, with the id ${valid.id}. ` +
            `Rotate it (plant-store token rotate ${name}), revoke it (plant-store token revoke ${name}), or choose another name`,
        );
      }
      return this.issue({ name, scopes }, expiry, now);
    });
  }

  /** All tokens, ended ones too, by name and then by id. */
  list(): Promise<TokenRecord[]> {
    return this.select('ORDER BY name COLLATE "C", id');
  }

  async hasValid(): Promise<boolean> {
    const { rows } = await this.client.query(`SELECT FROM ${this.table} WHERE ${validAt(NOW)} LIMIT 1`);
    return rows.length > 0;
  }

  /**
   * Revokes one token by its id, or all valid ones of a name. Returns the revoked ones (there may be none), and those that had
   * ended before. @throws TokenAdministrationError if there is no such token at all
   */
  async revoke(target: TokenTarget): Promise<{ revoked: TokenRecord[]; ended: TokenRecord[] }> {
    // As text: what was typed may be larger than any id can be.
    const [found] = 'id' in target ? await this.select('WHERE id::text = $1', target.id) : [];
    const name = 'id' in target ? found?.name : target.name;
    if (name === undefined) throw unknown(target);
    return this.transaction(name, 'To revoke again does no harm', async (now) => {
      const meant = (await this.named(name)).filter(({ id }) => found === undefined || id === found.id);
      if (meant.length === 0) throw unknown(target);
      const revoked = await this.revokeValid(idsOf(meant), now);
      return { revoked, ended: meant.filter(({ id }) => !idsOf(revoked).includes(id)) };
    });
  }

  /**
   * Makes another token of the same name and scopes, and of as long a life as the old one unless given.
   * @param overlap seconds for which the old ones stay valid, at most; with 0 they are revoked
   * @throws TokenAdministrationError if no token of that name is valid, or the new one would not be
   */
  rotate(name: string, overlap: number, expiry?: TokenExpiry): Promise<NewToken & { replaced: TokenRecord[] }> {
    const shown = escapeControls(name);
    const advice =
      `If it has a new valid one with the name ${shown}, nobody has that, and the old ones have ended or ` +
      'end after the overlap: rotate again, and then revoke the one that nobody has by its id';
    return this.transaction(name, advice, async (now) => {
      const old = await this.validOnes(name);
      const newest = old.at(-1) ?? old[0];
      const made = await this.issue(newest, expiry ?? lifeOf(newest), now);
      // They expire after the overlap, or when they would have anyway.
      const shorten = `UPDATE ${this.table} SET expires_at = LEAST(expires_at, $2) WHERE id = ANY($1::bigint[])`;
      const replaced =
        overlap > 0
          ? await this.change(shorten, idsOf(old), after(now, overlap).toISOString())
          : await this.revokeValid(idsOf(old), now);
      return { ...made, replaced };
    });
  }

  private async issue({ name, scopes }: TokenProperties, expiry: TokenExpiry, now: Date): Promise<NewToken> {
    const { at, seconds }: { at?: Date; seconds?: number } = expiry === 'never' ? {} : expiry;
    const expiresAt = seconds === undefined ? at : after(now, seconds);
    const token = makeToken();
    const [record] = await this.change(
      `INSERT INTO ${this.table} (name, digest, scopes, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5)`,
      name,
      tokenDigest(token),
      scopes,
      now.toISOString(),
      expiresAt?.toISOString(),
    );
    if (record?.state === 'valid') return { token, record };
    throw new TokenAdministrationError(
      'past',
      'the access token would have expired already: its end must be in the future',
    );
  }

  /** Returns those that were valid until now. */
  private revokeValid(ids: readonly number[], now: Date): Promise<TokenRecord[]> {
    const sql = `UPDATE ${this.table} SET revoked_at = $2 WHERE id = ANY($1::bigint[]) AND ${validAt('$2')}`;
    return this.change(sql, ids, now.toISOString());
  }

  /** The valid tokens of a name, at least one, the newest one last. @throws TokenAdministrationError if there is none */
  private async validOnes(name: string): Promise<[TokenRecord, ...TokenRecord[]]> {
    const named = await this.named(name);
    const [first, ...others] = named.filter(isValid);
    if (first) return [first, ...others];
    if (named.length === 0) throw unknown({ name });
    const shown = escapeControls(name);
    const found = `no access token with the name ${shown} is valid any more`;
    throw new TokenAdministrationError('ended', `${found}. Create one: plant-store token create ${shown}`);
  }

  private named(name: string): Promise<TokenRecord[]> {
    return this.select('WHERE name = $1 ORDER BY id', name);
  }

  /** Returns the rows that the statement has changed, as they are then. */
  private async change(sql: string, ...values: unknown[]): Promise<TokenRecord[]> {
    const { rows } = await this.client.query<TokenRecord>(`${sql} RETURNING id::float8 AS id`, values);
    const records = await this.select('WHERE id = ANY($1::bigint[]) ORDER BY id', idsOf(rows));
    this.changed.push(...records);
    return records;
  }

  private async select(clauses: string, ...values: unknown[]): Promise<TokenRecord[]> {
    const sql = `SELECT ${ROW} FROM ${this.table} ${clauses}`;
    return (await this.client.query<TokenRecordRow>(sql, values)).rows.map(tokenRecord);
  }

  /**
   * Runs changes to the tokens of one name one after the other.
   * @param advice a sentence for the case that the database does not confirm the change
   * @param work takes the database's time, in whole milliseconds as `Date` has
   * @throws TokenAdministrationError if the outcome is unknown. After any other error nothing was changed
   */
  private async transaction<T>(name: string, advice: string, work: (now: Date) => Promise<T>): Promise<T> {
    const { client } = this;
    let result: T;
    try {
      await client.query(BEGIN);
      const lock = 'SELECT pg_catalog.pg_advisory_xact_lock($1::int, pg_catalog.hashtext($2))';
      await client.query(lock, [LOCK_CLASS, `${this.schema}\n${name}`]);
      const { rows } = await client.query<{ now: number }>(`SELECT ${moment(NOW)} AS now`);
      result = await work(dateOf(Number(rows[0]?.now)));
    } catch (error) {
      // The connection itself may have failed.
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
    try {
      await client.query('COMMIT');
      return result;
    } catch (error) {
      // A server that refuses to commit has undone all, and goes on. One that ends the connection may have committed.
      if (error instanceof pg.DatabaseError && (await client.query('SELECT').catch(() => undefined))) throw error;
      const found = `whether the change was made is not known, as the database did not confirm it (${reasonOf(error)})`;
      const message = `${found}. See plant-store token list. ${advice}`;
      throw new TokenAdministrationError('unconfirmed', message, { cause: error });
    }
  }
}

function lifeOf({ createdAt, expiresAt }: TokenRecord): TokenExpiry {
  return expiresAt === null ? 'never' : { seconds: (expiresAt.getTime() - createdAt.getTime()) / 1000 };
}

function unknown(target: TokenTarget): TokenAdministrationError {
  const what = 'id' in target ? `the id ${quote(target.id)}` : `the name ${quote(target.name)}`;
  return new TokenAdministrationError(
    'unknown',
    `there is no access token with ${what}. See plant-store token list for those that there are`,
  );
}
