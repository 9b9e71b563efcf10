import type { HostTransaction } from 'plant-store';
import postgres from 'postgres';
import type { OpenLibrary } from './library.js';

export const open: OpenLibrary = (url, plants) => {
  const sql = postgres(url);
  const sow = async (): Promise<void> => {
    await sql.begin(async (tx) => {
      const query = (text: string, values: string[]) => tx.unsafe(text, values);
      await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
      await tx`INSERT INTO orders (plant_id) VALUES (1)`;
    });
  };
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [sql];
  return { sow, instances, close: () => sql.end() };
};
