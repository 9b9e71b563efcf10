import type pg from 'pg';
import { escapeControls, quote } from '../../util/text.js';
import { TokenAdministrationError, TokenAdminSql } from './token-admin-sql.js';
import type { NewToken, TokenExpiry, TokenRecord } from './token-record.js';
import { makeToken, tokenDigest } from './token.js';

/** One token, or all of a name. */
type TokenTarget = { readonly id: string } | { readonly name: string };

interface TokenRotation {
  readonly name: string;
  /** Seconds for which the old ones stay valid, at most; with 0 they are revoked. */
  readonly overlap: number;
  /** As long from now as the life of the old one was, unless given. */
  readonly expiry?: TokenExpiry | undefined;
}

/** Creates, lists, revokes, rotates and prunes access tokens, on a connection to the database that has the store's tables. */
export class TokenAdministration {
  private readonly sql: TokenAdminSql;

  constructor(client: pg.ClientBase, schema: string) {
    this.sql = new TokenAdminSql(client, schema);
  }

  /** @throws TokenAdministrationError where a token of that name is valid, or this one would not be */
  create(name: string, scopes: readonly string[], expiry: TokenExpiry): Promise<NewToken> {
    const advice = `If it has a new valid one with the name ${name}, nobody has that: rotate or revoke it`;
    return this.sql.transaction(name, advice, async () => {
      // A rotation leaves several for a while: the newest one lasts.
      const valid = (await this.sql.named(name)).findLast(isValid);
      if (valid) {
        throw new TokenAdministrationError(
          'duplicate',
          `a valid access token has the name ${name} already, with the id ${valid.id}. ` +
            `Rotate it (plant-store token rotate ${name}), revoke it (plant-store token revoke ${name}), or choose another name`,
        );
      }
      return this.issue(name, scopes, expiry);
    });
  }

  /** All tokens, ended ones too, by name and then by id. */
  list(): Promise<TokenRecord[]> {
    return this.sql.all();
  }

  hasValid(): Promise<boolean> {
    return this.sql.anyValid();
  }

  /**
   * Revokes one token by its id, or all valid ones of a name. Returns the revoked ones, perhaps none, and those that had
   * ended before.
   *
   * @throws TokenAdministrationError where there is no such token at all
   */
  async revoke(target: TokenTarget): Promise<{ revoked: TokenRecord[]; ended: TokenRecord[] }> {
    const found = 'id' in target ? await this.sql.withId(target.id) : undefined;
    const name = 'id' in target ? found?.name : target.name;
    if (name === undefined) throw unknown(target);
    return this.sql.transaction(name, 'To revoke again does no harm', async () => {
      const meant = (await this.sql.named(name)).filter(({ id }) => found === undefined || id === found.id);
      if (meant.length === 0) throw unknown(target);
      const revoked = await this.sql.revoke(meant.map(({ id }) => id));
      return { revoked, ended: meant.filter(({ id }) => revoked.every((record) => record.id !== id)) };
    });
  }

  /**
   * Makes another token of the same name and scopes. The old ones stay valid for the overlap.
   *
   * @throws TokenAdministrationError where no token of that name is valid, or the new one would not be
   */
  rotate({ name, overlap, expiry }: TokenRotation): Promise<NewToken & { replaced: TokenRecord[] }> {
    const advice =
      `If it has a new valid one with the name ${escapeControls(name)}, nobody has that, and the old ones have ended or ` +
      'end after the overlap: rotate again, and then revoke the one that nobody has by its id';
    return this.sql.transaction(name, advice, async () => {
      const named = await this.sql.named(name);
      const old = named.filter(isValid);
      const newest = old.at(-1);
      if (newest === undefined) throw named.length === 0 ? unknown({ name }) : ended(name);
      const ids = old.map(({ id }) => id);
      const made = await this.issue(name, newest.scopes, expiry ?? lifeOf(newest));
      const replaced = await (overlap > 0 ? this.sql.shorten(ids, overlap) : this.sql.revoke(ids));
      return { ...made, replaced };
    });
  }

  /** Removes the tokens that expired, or were revoked, so many seconds ago. Returns what they were. */
  prune(seconds: number): Promise<TokenRecord[]> {
    return this.sql.transaction('', 'To prune again does no harm', () => this.sql.prune(seconds));
  }

  private async issue(name: string, scopes: readonly string[], expiry: TokenExpiry): Promise<NewToken> {
    const token = makeToken();
    const record = await this.sql.insert(name, tokenDigest(token), scopes, expiry);
    if (isValid(record)) return { token, record };
    throw new TokenAdministrationError(
      'past',
      'the access token would have expired already: its end must be in the future',
    );
  }
}

const isValid = ({ state }: TokenRecord): boolean => state === 'valid';

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

function ended(name: string): TokenAdministrationError {
  const shown = escapeControls(name);
  return new TokenAdministrationError(
    'ended',
    `no access token with the name ${shown} is valid any more. Create one: plant-store token create ${shown}`,
  );
}
