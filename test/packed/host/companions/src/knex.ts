import createKnex from 'knex';
import type { HostTransaction } from 'plant-store';
import type { OpenLibrary } from './library.js';

export const open: OpenLibrary = (url, plants) => {
  const knex = createKnex({ client: 'pg', connection: url });
  const sow = async (): Promise<void> => {
    await knex.transaction(async (trx) => {
      const query = (text: string, values: string[]) => trx.raw(text.replace(/\$\d+/g, '?'), values);
      await plants.create({ id: 1n, name: 'Rose' }, { transaction: { query } });
      await trx('orders').insert({ plant_id: 1 });
    });
  };
  // @ts-expect-error it is no transaction
  const instances: HostTransaction[] = [knex];
  return { sow, instances, close: () => knex.destroy() };
};
