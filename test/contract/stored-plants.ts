import type { ContractTarget } from './contract-target.js';

export interface StoredPlant {
  id: string;
  name: string;
  tag: string | null;
  idempotency_key: string | null;
}

/** Every plant that the database holds, by id. */
export function storedPlants({ database }: ContractTarget): Promise<StoredPlant[]> {
  return database.query<StoredPlant>('SELECT id, name, tag, idempotency_key FROM plants ORDER BY id');
}

export async function removePlants({ database }: ContractTarget): Promise<void> {
  await database.query('DELETE FROM plants');
}
