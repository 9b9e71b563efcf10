import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../../src/database/generated/client.js';
import type { HostTransaction } from '../../../src/index.js';

/** A Prisma client of a host's. */
export class PrismaService extends PrismaClient {}

type Rows = Record<string, unknown>[];

/** What a host does in its transaction. */
export type Work = (transaction: HostTransaction, run: (sql: string) => Promise<Rows>) => Promise<void>;

/** A host's way to its database. */
export interface HostDriver {
  /** Commits, or rolls back if the work fails, and throws what it threw. */
  transact(work: Work): Promise<void>;
  close(): Promise<void>;
}

function overPg(url: string): HostDriver {
  const pool = new pg.Pool({ connectionString: url });
  return {
    async transact(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await work(client, async (sql) => (await client.query(sql)).rows as Rows);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

function overPrisma(url: string): HostDriver {
  const prisma = new PrismaService({ adapter: new PrismaPg(url) });
  return {
    transact: (work) =>
      prisma.$transaction((transaction) => work(transaction, (sql) => transaction.$queryRawUnsafe<Rows>(sql)), {
        // Longer than any test on a slow machine.
        timeout: 60_000,
        maxWait: 60_000,
      }),
    close: () => prisma.$disconnect(),
  };
}

function overTypeOrm(url: string): HostDriver {
  const source = new DataSource({ type: 'postgres', url });
  const connected = source.initialize();
  return {
    async transact(work) {
      await connected;
      const runner = source.createQueryRunner();
      try {
        await runner.startTransaction();
        await work(runner, (sql) => runner.query(sql) as Promise<Rows>);
        await runner.commitTransaction();
      } catch (error) {
        await runner.rollbackTransaction();
        throw error;
      } finally {
        await runner.release();
      }
    },
    close: () => source.destroy(),
  };
}

export const HOST_DRIVERS = [
  ['pg', overPg],
  ['Prisma', overPrisma],
  ['TypeORM', overTypeOrm],
] as const;
