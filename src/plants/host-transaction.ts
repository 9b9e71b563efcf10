import { describeFound } from '../util/text.js';

/**
 * An open transaction of the application, on the database of the store. Its methods identify it, so any version works:
 * - a client of `pg` from `pool.connect()`, after `await client.query('BEGIN')`;
 * - the argument of the callback of Prisma's `$transaction()`, also with extensions;
 * - for other libraries, an object with `query(sql, values)`, such as a `QueryRunner` of TypeORM after
 *   `startTransaction()`. It runs the statement in your transaction, with `$1` for the first value, and resolves with
 *   the rows or `{ rows }`.
 *
 * If you did not begin a transaction, the plant is committed by itself.
 *
 * @example
 * import type { HostTransaction, PlantsService } from 'plant-store';
 *
 * export async function plantRose(plants: PlantsService, transaction: HostTransaction): Promise<void> {
 *   await plants.create({ id: 3n, name: 'Rose' }, { transaction });
 * }
 */
export type HostTransaction =
  // A pool has a `totalCount`, and Prisma's client itself a `$connect`.
  | { query(...parameters: never[]): unknown; readonly totalCount?: never }
  | { $queryRawUnsafe(...parameters: never[]): unknown; readonly $connect?: never };

/** Runs a statement in a transaction of the host. */
export type RunInTransaction = <Row>(sql: string, values: readonly unknown[]) => Promise<Row[]>;

type HostQuery = (sql: string, ...values: unknown[]) => Promise<unknown>;

/** Returns a function that runs statements in a transaction of the host. Throws a TypeError if this is none. */
export function runIn(transaction: unknown): RunInTransaction {
  const given = Object(transaction) as { $queryRawUnsafe?: HostQuery; query?: HostQuery };
  const { $queryRawUnsafe, query } = given;
  const mistake = mistakenFor(transaction, given);
  if (mistake !== undefined || typeof ($queryRawUnsafe ?? query) !== 'function') {
    const wanted =
      'a client of pg after BEGIN, a transaction client of Prisma, ' +
      '{ query(sql, values) } that runs in your transaction';
    const found = mistake ?? ('then' in given ? 'is a promise' : describeFound(transaction));
    throw new TypeError(`transaction: ${found}, should be ${wanted}, or be omitted`);
  }
  return async <Row>(sql: string, values: readonly unknown[]): Promise<Row[]> => {
    const result = await ($queryRawUnsafe?.call(transaction, sql, ...values) ?? query?.call(transaction, sql, values));
    // pg returns an object with the rows.
    return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as Row[];
  };
}

/** With these, the plant would be committed by itself. Some libraries type the client of Prisma as its transaction. */
function mistakenFor(transaction: unknown, given: object): string | undefined {
  if (transaction === undefined) return 'is undefined';
  if ('$connect' in given) return "is Prisma's client itself";
  return 'totalCount' in given && !('$queryRawUnsafe' in given) ? 'is a pool' : undefined;
}
