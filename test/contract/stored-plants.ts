import type { ContractTarget } from './contract-target.js';

export interface StoredPlant {
  id: string;
  name: string;
  tag: string | null;
  idempotency_key: string | null;
}

/** All that the tests of the contract ask a database: a target without one has to answer these two. */
const FIND_PLANTS = 'SELECT id, name, tag, idempotency_key FROM plants ORDER BY id';
const REMOVE_PLANTS = 'DELETE FROM plants';

/** Every plant that the database holds, by id. */
export function storedPlants({ database }: ContractTarget): Promise<StoredPlant[]> {
  return database.query<StoredPlant>(FIND_PLANTS);
}

export async function removePlants({ database }: ContractTarget): Promise<void> {
  await database.query(REMOVE_PLANTS);
}
