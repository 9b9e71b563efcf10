import { sql } from 'drizzle-orm';
import { drizzle as overPg } from 'drizzle-orm/node-postgres';
import { bigint, type PgDatabase, type PgQueryResultHKT, pgTable } from 'drizzle-orm/pg-core';
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js';
import pg from 'pg';
import type { HostTransaction, PlantsService } from 'plant-store';
import postgres from 'postgres';
import type { OpenLibrary } from './library.js';

const orders = pgTable('orders', { plantId: bigint('plant_id', { mode: 'bigint' }) });

async function sow(db: PgDatabase<PgQueryResultHKT>, plants: Pick<PlantsService, 'create'>): Promise<void> {
  await db.transaction(async (tx) => {
    const query = (text: string, values: unknown[]) => {
      const parts = text.split(/\$(\d+)/);
      return tx.execute(sql.join(parts.map((part, i) => (i % 2 ? sql.param(values[+part - 1]) : sql.raw(part)))));
    };
    await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
    await tx.insert(orders).values({ plantId: 1n });
  });
}

export const openOverPg: OpenLibrary = (url, plants) => {
  const client = new pg.Pool({ connectionString: url });
  const db = overPg({ client });
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [db];
  return { sow: () => sow(db, plants), instances, close: () => client.end() };
};

export const openOverPostgresJs: OpenLibrary = (url, plants) => {
  const client = postgres(url);
  const db = overPostgresJs({ client });
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [db];
  return { sow: () => sow(db, plants), instances, close: () => client.end() };
};
