import pg from 'pg';
import { reasonOf } from '../../util/text.js';
import { TokenAdministrationError } from './token-administration.error.js';
import { TOKEN_CHANNEL } from './token-channel.js';

/** Any number that no other program is likely to use; this one spells "PLTK". */
const LOCK_CLASS = 0x504c544b;
/** Sooner than the connection is given up, so that what comes too late is undone and not done unheard. */
const STATEMENT_TIMEOUT = 8000;

/** What is done to the tokens of one name is done one after the other, and told to all who verify tokens. */
export class TokenTransaction {
  /**
   * @param name of the tokens, in this schema
   * @param advice a sentence for where the database does not say whether it was done
   */
  constructor(
    private readonly client: pg.ClientBase,
    private readonly schema: string,
    private readonly name: string,
    private readonly advice: string,
  ) {}

  /** @throws TokenAdministrationError where nobody knows whether it was done. After any other error it was not */
  async run<T>(work: () => Promise<T>): Promise<T> {
    // Whatever the role's defaults are: what has waited for the lock must see what it waited for, and what is told to be
    // done is on disk.
    await this.client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const result = await this.prepare(work);
    await this.commit();
    return result;
  }

  private async prepare<T>(work: () => Promise<T>): Promise<T> {
    try {
      await this.client.query(
        `SELECT set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $1, true)`,
        [String(STATEMENT_TIMEOUT)],
      );
      await this.client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
        LOCK_CLASS,
        `${this.schema}\n${this.name}`,
      ]);
      const result = await work();
      await this.client.query(`SELECT pg_notify($1, '')`, [TOKEN_CHANNEL]);
      return result;
    } catch (error) {
      // The connection may be what failed.
      await this.client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  private async commit(): Promise<void> {
    try {
      await this.client.query('COMMIT');
    } catch (error) {
      if (error instanceof pg.DatabaseError && (await this.isUsable())) throw error;
      throw new TokenAdministrationError(
        'unconfirmed',
        `whether the change was made is not known, as the database did not confirm it (${reasonOf(error)}). ` +
          `See plant-store token list. ${this.advice}`,
        { cause: error },
      );
    }
  }

  /** A server that refuses to commit has undone all, and goes on. One that ends the connection may have committed. */
  private isUsable(): Promise<boolean> {
    return this.client.query('SELECT').then(
      () => true,
      () => false,
    );
  }
}
