import { describeFound } from '../util/options.js';
import type { QueryValue } from './column-query.js';
import type { Query } from './database.js';

/**
 * An open transaction of the application's, on the database of the store. It is recognised by its methods, so packages may be of any version:
 * - a client of `pg`, that of `pool.connect()`, after `await client.query('BEGIN')`;
 * - what the callback of Prisma's `$transaction()` gets, with extensions too;
 * - a `QueryRunner` of TypeORM after `await queryRunner.startTransaction()`, or `manager.queryRunner` in `dataSource.transaction(…)`;
 * - for other libraries an object of yours, `{ query(sql, values) }`: it runs the statement, with `$1` for the first value, in your transaction,
 *   and resolves with the rows or with `{ rows }`.
 */
export type HostTransaction =
  // A pool has a `totalCount`. Sequelize and others that open transactions have `transaction()`, as DataSource and EntityManager of TypeORM.
  | { query(...parameters: never[]): unknown; readonly totalCount?: never; readonly transaction?: never }
  | { query(...parameters: never[]): unknown; readonly isTransactionActive: boolean }
  // Prisma's client itself has a `$connect`.
  | { $queryRawUnsafe(...parameters: never[]): unknown; readonly $connect?: never };

const OWN_QUERY = '{ query(sql, values) } that runs in your transaction';

type Run = (sql: string, ...values: unknown[]) => Promise<unknown>;

/** Runs statements in a transaction of the host's. Throws a TypeError if this is clearly no transaction. */
export function queryIn(transaction: unknown): Query {
  const fault = faultOf(transaction);
  if (fault !== undefined) throw new TypeError(`transaction: ${fault}`);
  const { $queryRawUnsafe, query } = transaction as { $queryRawUnsafe?: Run; query: Run };
  return async <Row>(sql: string, values: QueryValue[] = []): Promise<Row[]> => {
    const result = await ($queryRawUnsafe?.call(transaction, sql, ...values) ?? query.call(transaction, sql, values));
    // Only pg has more than the rows.
    return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as Row[];
  };
}

function faultOf(transaction: unknown): string | undefined {
  const given = Object(transaction) as Record<string, unknown> & { getTransactionStatus?: () => unknown };
  if (typeof given.$queryRawUnsafe === 'function') {
    if (typeof given.$connect !== 'function') return undefined;
    return "is Prisma's client itself, should be the one that the callback of $transaction() gets";
  }
  if (typeof given.query !== 'function') {
    const found =
      transaction === undefined ? 'is undefined' : 'then' in given ? 'is a promise' : describeFound(transaction);
    return `${found}, should be a client of pg after BEGIN, a transaction client of Prisma, a QueryRunner of TypeORM, ${OWN_QUERY}, or be left out`;
  }
  if (given.isTransactionActive === true) return undefined;
  if (given.isTransactionActive === false) {
    return 'is a QueryRunner without a transaction, should be one after await queryRunner.startTransaction()';
  }
  if ('getRepository' in given || 'manager' in given) {
    return 'is a DataSource, EntityManager or Repository, should be the QueryRunner: manager.queryRunner in a transaction';
  }
  if (isPool(given)) return 'is a pool, should be the client that pool.connect() gave and that has sent BEGIN';
  if (typeof given.transaction === 'function') return `opens transactions, but is not one, should be ${OWN_QUERY}`;
  // Older versions of pg do not know: undefined.
  if (!(['I', null] as unknown[]).includes(given.getTransactionStatus?.())) return undefined;
  return "is a client of pg without a transaction, should be one after await client.query('BEGIN')";
}

/** A client has `connect()` too: with parameters of its own, or with `release()` for the pool that gave it. */
function isPool(given: object): boolean {
  const isConnecting = 'connect' in given && !('connectionParameters' in given || 'release' in given);
  return 'totalCount' in given || isConnecting;
}
