import { Socket } from 'node:net';
import pg from 'pg';
import { DEFAULT_TIMEOUT, GRACE_MS } from '../../database/database.options.js';
import { type DatabaseUrl, parseDatabaseUrl } from '../../database/database-url.js';
import { isRejection } from '../../database/database.errors.js';
import { withinTime } from '../../util/timing.js';
import { answerInTime, isTimeUp } from './answer-in-time.js';
import type { IssuedTokensOptions } from '../auth.options.js';
import { StatementLimit } from './statement-limit.js';
import { TokenStatements } from './token-statements.js';
import type { TokenRow, TokenStore, TokenStoreEvents, TokenUse } from './token-store.js';

/** Milliseconds that a goodbye may take. */
const GOODBYE_LIMIT = 250;

interface Connection {
  readonly client: pg.Client;
  readonly socket: Socket;
}

/** A connection to the tokens in PostgreSQL. It does not keep the process from ending. */
export class TokenConnection implements TokenStore {
  private readonly database: DatabaseUrl;
  private readonly statements: TokenStatements;
  private readonly connectLimit: number;
  private readonly statementLimit: StatementLimit;
  private connection: Connection | undefined;
  private connecting: Connection | undefined;
  private asking = false;

  constructor({ url, password, schema, timeout = DEFAULT_TIMEOUT }: IssuedTokensOptions) {
    this.database = parseDatabaseUrl(url, password, schema);
    this.statements = new TokenStatements(this.database.schema);
    this.connectLimit = timeout;
    this.statementLimit = new StatementLimit(timeout);
  }

  get isOpen(): boolean {
    return this.connection !== undefined;
  }

  async open(events: TokenStoreEvents, limit: number): Promise<void> {
    const connection = this.makeConnection(Math.min(limit, this.connectLimit));
    const { client, socket } = connection;
    this.connecting = connection;
    client.on('notification', () => {
      events.changed();
    });
    // Unheard, the event would end the process.
    client.on('error', (error) => {
      if (this.connection !== connection) return;
      this.connection = undefined;
      socket.destroy();
      // Or the statement says so.
      if (!this.asking) events.lost(error);
    });
    try {
      await client.connect();
      socket.unref();
      this.connection = connection;
      await this.listen();
    } finally {
      this.connecting = undefined;
      if (this.connection !== connection) socket.destroy();
    }
  }

  async find(digests: readonly Buffer[]): Promise<TokenRow[]> {
    return this.askPatiently<TokenRow>(this.statements.find, [digests]);
  }

  async check(ids: readonly number[]): Promise<TokenRow[]> {
    return this.askPatiently<TokenRow>(this.statements.check, [ids]);
  }

  async recordUses(uses: readonly TokenUse[]): Promise<void> {
    await this.ask(this.statements.recordUses(uses));
  }

  async close(): Promise<void> {
    const { connection } = this;
    if (connection === undefined) return;
    this.connection = undefined;
    const { client, socket } = connection;
    socket.ref();
    await withinTime(client.end(), GOODBYE_LIMIT, () => new Error('no goodbye')).catch(() => undefined);
    socket.destroy();
  }

  destroy(): void {
    // Told a reason, pg fails at once what waits for an answer.
    const reason = new Error('the connection is given up');
    for (const connection of [this.connecting, this.connection]) connection?.socket.destroy(reason);
    this.connection = undefined;
  }

  private makeConnection(connectLimit: number): Connection {
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: this.database.connectionString,
      connectionTimeoutMillis: connectLimit,
      statement_timeout: this.statementLimit.milliseconds,
      keepAlive: true,
      application_name: 'plant-store-tokens',
      // Held here, because pg has no way to give up a connection that does not answer.
      stream: () => socket,
    });
    return { client, socket };
  }

  /** A standby and some poolers refuse it: then the checks have to find out by themselves. */
  private async listen(): Promise<void> {
    try {
      await this.askPatiently(this.statements.listen);
    } catch (error) {
      if (!this.isOpen) throw error;
    }
  }

  /** Where its time is up, the next one has more, on another connection: this one's server was told the old limit. */
  private async askPatiently<Row extends object>(text: string, values?: unknown[]): Promise<Row[]> {
    const { connection } = this;
    const askedAt = performance.now();
    try {
      const rows = await this.ask<Row>(text, values);
      this.statementLimit.answered(performance.now() - askedAt);
      return rows;
    } catch (error) {
      if (connection !== undefined && isTimeUp(error)) {
        this.statementLimit.ranOut();
        this.giveUp(connection);
      }
      throw error;
    }
  }

  private async ask<Row extends object>(text: string, values?: unknown[]): Promise<Row[]> {
    const { connection } = this;
    if (connection === undefined) throw new Error('the connection to the access tokens is closed');
    this.asking = true;
    try {
      const { rows } = await answerInTime(
        connection.client.query<Row>(text, values),
        this.statementLimit.milliseconds + GRACE_MS,
      );
      return rows;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && isRejection(error))) this.giveUp(connection);
      throw error;
    } finally {
      this.asking = false;
    }
  }

  private giveUp(connection: Connection): void {
    if (this.connection === connection) this.connection = undefined;
    connection.socket.destroy();
  }
}
