import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { HostTransaction } from 'plant-store';
import type { OpenLibrary } from './library.js';

export const open: OpenLibrary = (url, plants) => {
  const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) });
  const db = new Kysely<{ orders: { plant_id: bigint } }>({ dialect });
  const sow = async (): Promise<void> => {
    await db.transaction().execute(async (trx) => {
      const query = (text: string, values: unknown[]) => trx.executeQuery(CompiledQuery.raw(text, values));
      await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
      await trx.insertInto('orders').values({ plant_id: 1n }).execute();
    });
  };
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [db];
  return { sow, instances, close: () => db.destroy() };
};
