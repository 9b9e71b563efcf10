import type { QueryValue } from './column-query.js';

/** Runs one statement, on whichever connection there is. */
export type Query = <Row>(sql: string, values?: QueryValue[]) => Promise<Row[]>;

// Types of our own: those of pg would reach the declarations that a host compiles.

/** One statement, in the form that pg takes. */
export interface Statement {
  readonly text: string;
  readonly values?: QueryValue[];
  readonly rowMode?: 'array';
}

/** The answer to a statement, in the form that pg gives. */
export interface Rows {
  readonly rows: unknown[];
}

/** A connection for the statements of a transaction, as Prisma's adapter uses it. */
export interface Connection {
  query(statement: Statement): Promise<Rows>;
  release(failure?: Error): void;
  on(): void;
  removeListener(): void;
}

/**
 * The database that holds the plants, whether the store connects to it by itself or borrows connections from the host. The class of an
 * error says whether the statement was sent: with a `DatabaseUnreachableError` or a `ConnectionPoolExhaustedError` it was not. A statement
 * that PostgreSQL rejected fails with a `DatabaseError` of pg. After any other error the outcome is unknown.
 */
export abstract class Database {
  /** For people. */
  abstract readonly description: string;
  /** The schema that holds the tables. */
  abstract readonly schema: string;
  /** Milliseconds to wait for a connection and the answer to a statement, both together. */
  abstract readonly timeout: number;
  /** The maximum number of connections; Infinity if it is not known. */
  abstract readonly connections: number;
  abstract readonly connectionsInUse: number;
  /** Hears of each wait for a connection, in vain too: metrics set it. */
  connectionWaits: { observeSince(moment: number): void } | undefined;

  /** Whether every connection is in use, as far as that is known. */
  abstract isBusy(): boolean;
  abstract connect(): Promise<Connection>;
  /** Runs one statement on any connection. */
  abstract execute(statement: Statement): Promise<Rows>;
  /** The same, and returns the first column of its rows, as texts. */
  abstract queryColumn(sql: string, values: readonly QueryValue[]): Promise<string[]>;

  /** The tables' names have to be qualified: the connection may have any `search_path`. */
  readonly query: Query = async <Row>(text: string, values: QueryValue[] = []): Promise<Row[]> =>
    (await this.execute({ text, values })).rows as Row[];
}
