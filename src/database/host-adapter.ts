import {
  isDriverAdapterError,
  type SqlDriverAdapter,
  type SqlQuery,
  type Transaction,
} from '@prisma/driver-adapter-utils';
import { withinTime } from '../util/timing.js';
import { ConnectionPoolExhaustedError, DatabaseTimeoutError, DatabaseUnreachableError } from './database.errors.js';
import { GRACE_MS } from './database.options.js';

/**
 * An adapter over connections of the host's pool. Each statement is a transaction, with a statement timeout that ends
 * with it. The session is returned unchanged. As with ConnectionPool, errors tell whether a statement was sent at all.
 *
 * @param isBusy whether every connection is in use, as far as that is known
 */
export function transactional(inner: SqlDriverAdapter, timeout: number, isBusy: () => boolean): SqlDriverAdapter {
  const run = async <T>(statement: (transaction: Transaction) => Promise<T>): Promise<T> => {
    const deadline = performance.now() + timeout;
    // Now, and not when the time is up.
    const waits = isBusy();
    const state = { isSent: false, isLate: false };
    const timeUp = (): Error => {
      state.isLate = true;
      return new DatabaseTimeoutError(`the database did not answer within ${timeout} ms`);
    };
    const result = inTransaction(inner, async (transaction) => {
      const left = Math.ceil(Math.max(1, deadline - performance.now()));
      await transaction.queryRaw(plainQuery(`SELECT pg_catalog.set_config('statement_timeout', '${left}', true)`));
      // The caller has been answered that nothing was sent.
      if (state.isLate) throw timeUp();
      state.isSent = true;
      return statement(transaction);
    });
    try {
      return await withinTime(result, timeout + GRACE_MS, timeUp);
    } catch (cause) {
      if (state.isSent) throw cause;
      // An error of the driver is the server's or the network's: the wait for others was over by then.
      throw waits && !isDriverAdapterError(cause)
        ? new ConnectionPoolExhaustedError('every database connection stayed busy', { cause })
        : new DatabaseUnreachableError('no transaction could be begun', { cause });
    }
  };
  const info = inner.getConnectionInfo?.() ?? { supportsRelationJoins: true };
  return {
    provider: inner.provider,
    adapterName: inner.adapterName,
    queryRaw: (query) => run((transaction) => transaction.queryRaw(query)),
    executeRaw: (query) => run((transaction) => transaction.executeRaw(query)),
    executeScript: (script) => inner.executeScript(script),
    startTransaction: (isolationLevel) => inner.startTransaction(isolationLevel),
    getConnectionInfo: () => info,
    dispose: () => inner.dispose(),
  };
}

/** Returns the connection, with nothing left open on it. */
async function inTransaction<T>(adapter: SqlDriverAdapter, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const transaction = await adapter.startTransaction();
  try {
    const result = await work(transaction);
    await transaction.executeRaw(plainQuery('COMMIT'));
    await transaction.commit();
    return result;
  } catch (error) {
    // If this fails too, the connection is lost, and the transaction with it.
    await transaction.executeRaw(plainQuery('ROLLBACK')).catch(() => undefined);
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
}

function plainQuery(sql: string): SqlQuery {
  return { sql, args: [], argTypes: [] };
}
