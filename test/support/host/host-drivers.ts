import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { PrismaClient } from '../../../src/database/generated/client.js';
import type { HostTransaction } from '../../../src/index.js';

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
      const run = async (sql: string): Promise<Rows> => (await client.query(sql)).rows as Rows;
      try {
        await run('BEGIN');
        await work(client, run);
        await run('COMMIT');
      } catch (error) {
        await run('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

function overPrisma(url: string): HostDriver {
  const prisma = new PrismaClient({ adapter: new PrismaPg(url) });
  // Longer than any test on a slow machine.
  const limits = { timeout: 60_000, maxWait: 60_000 };
  return {
    transact: (work) =>
      prisma.$transaction((transaction) => work(transaction, (sql) => transaction.$queryRawUnsafe<Rows>(sql)), limits),
    close: () => prisma.$disconnect(),
  };
}

/** Its QueryRunner is an object with `query()`. */
function overTypeOrm(url: string): HostDriver {
  const source = new DataSource({ type: 'postgres', url });
  const connected = source.initialize();
  return {
    async transact(work) {
      await connected;
      await source.transaction(({ queryRunner }) => {
        if (queryRunner === undefined) throw new Error('TypeORM gave no QueryRunner.');
        return work(queryRunner, (sql) => queryRunner.query(sql) as Promise<Rows>);
      });
    },
    close: () => source.destroy(),
  };
}

export const HOST_DRIVERS = [
  ['pg', overPg],
  ['Prisma', overPrisma],
  ['TypeORM, as { query }', overTypeOrm],
] as const;
