import type {
  ConnectionInfo,
  IsolationLevel,
  SqlDriverAdapter,
  SqlQuery,
  SqlResultSet,
  Transaction,
} from '@prisma/driver-adapter-utils';
import { withinTime } from '../util/timing.js';
import { ConnectionPoolExhaustedError, DatabaseTimeoutError, DatabaseUnreachableError } from './database.errors.js';
import { GRACE_MS } from './database.options.js';
import { escapeSchema } from './prisma-adapter.js';

/**
 * An adapter over connections that are borrowed from the host. Each statement is a transaction, with a statement timeout that ends
 * with it. The session is returned unchanged. As with ConnectionPool, errors tell whether a statement was sent at all.
 */
export class TransactionalAdapter implements SqlDriverAdapter {
  readonly provider: SqlDriverAdapter['provider'];
  readonly adapterName: string;
  private disposal?: Promise<void>;

  constructor(
    private readonly inner: SqlDriverAdapter,
    private readonly schema: string,
    private readonly timeout: number,
  ) {
    this.provider = inner.provider;
    this.adapterName = inner.adapterName;
  }

  queryRaw(query: SqlQuery): Promise<SqlResultSet> {
    return this.run((transaction) => transaction.queryRaw(query));
  }

  executeRaw(query: SqlQuery): Promise<number> {
    return this.run((transaction) => transaction.executeRaw(query));
  }

  executeScript(script: string): Promise<void> {
    return this.inner.executeScript(script);
  }

  startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    return this.begin(performance.now() + this.timeout, isolationLevel);
  }

  getConnectionInfo(): ConnectionInfo {
    const info = this.inner.getConnectionInfo?.() ?? { supportsRelationJoins: true };
    return { ...info, schemaName: escapeSchema(this.schema) };
  }

  /** Prisma's client calls it if it has run a query, and the Database in any case: a pool cannot be ended twice. */
  dispose(): Promise<void> {
    return (this.disposal ??= this.inner.dispose());
  }

  private async run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.timeout;
    const transaction = await this.begin(deadline);
    const timeUp = (): Error => new DatabaseTimeoutError(`the database did not answer within ${this.timeout} ms`);
    const result = (async () => {
      const value = await work(transaction);
      // The caller does not wait any more.
      if (performance.now() > deadline + GRACE_MS) throw timeUp();
      return value;
    })().then(
      (value) => commit(transaction).then(() => value),
      (error: unknown) => rollBack(transaction).then(() => Promise.reject(error as Error)),
    );
    return withinTime(result, deadline + GRACE_MS - performance.now(), timeUp);
  }

  /** Whatever fails here, no statement was sent. */
  private async begin(deadline: number, isolationLevel?: IsolationLevel): Promise<Transaction> {
    const beginning = this.beginWithSettings(deadline, isolationLevel);
    try {
      const timeUp = (): Error => new DatabaseTimeoutError(`no transaction began within ${this.timeout} ms`);
      return await withinTime(beginning, deadline + GRACE_MS - performance.now(), timeUp);
    } catch (cause) {
      // One that begins after all is ended.
      void beginning.then(rollBack, () => undefined);
      if (cause instanceof ConnectionPoolExhaustedError || cause instanceof DatabaseUnreachableError) throw cause;
      throw new DatabaseUnreachableError('no transaction could be begun', { cause });
    }
  }

  private async beginWithSettings(deadline: number, isolationLevel?: IsolationLevel): Promise<Transaction> {
    const transaction = await this.inner.startTransaction(isolationLevel);
    const left = Math.ceil(Math.max(1, deadline - performance.now()));
    return orRollBack(transaction, async () => {
      await transaction.queryRaw(plainQuery(`SELECT set_config('statement_timeout', '${left}', true)`));
      return transaction;
    });
  }
}

async function commit(transaction: Transaction): Promise<void> {
  if (!transaction.options.usePhantomQuery) {
    await orRollBack(transaction, () => transaction.executeRaw(plainQuery('COMMIT')));
  }
  await transaction.commit();
}

async function orRollBack<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await rollBack(transaction);
    throw error;
  }
}

/** Returns the connection, with nothing left open on it. Never fails: the failure before it matters more. */
async function rollBack(transaction: Transaction): Promise<void> {
  try {
    if (!transaction.options.usePhantomQuery) await transaction.executeRaw(plainQuery('ROLLBACK'));
  } catch {
    // The connection is lost, and the transaction with it.
  }
  await transaction.rollback().catch(() => undefined);
}

function plainQuery(sql: string): SqlQuery {
  return { sql, args: [], argTypes: [] };
}
