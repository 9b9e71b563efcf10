import type pg from 'pg';
import type { NewPlant } from './fastify.js';

const MAX_PLANTS = 500;
const TEXT = `
  INSERT INTO plants (id, name, tag)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
  ON CONFLICT DO NOTHING
  RETURNING id`;

interface Waiting {
  readonly plant: NewPlant;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The shortest batching that is right: one statement at a time, and what comes meanwhile goes with the next. */
export function insertInBatches(pool: pg.Pool): (plant: NewPlant) => Promise<void> {
  const waiting: Waiting[] = [];
  let isBusy = false;

  const insertAll = async (): Promise<void> => {
    while (waiting.length > 0) await insertBatch(pool, waiting.splice(0, MAX_PLANTS));
    isBusy = false;
  };

  return (plant) =>
    new Promise((resolve, reject) => {
      waiting.push({ plant, resolve, reject });
      if (isBusy) return;
      isBusy = true;
      // Requests that have arrived together are in one batch.
      setImmediate(() => void insertAll());
    });
}

async function insertBatch(pool: pg.Pool, batch: readonly Waiting[]): Promise<void> {
  const plants = batch.map(({ plant }) => plant);
  const values = [plants.map(({ id }) => id), plants.map(({ name }) => name), plants.map(({ tag }) => tag ?? null)];
  try {
    const { rows } = await pool.query<{ id: string }>({ name: 'create-plants', text: TEXT, values });
    const stored = new Set(rows.map(({ id }) => id));
    for (const { plant, resolve, reject } of batch) {
      // Of two with the same id one is stored.
      if (stored.delete(String(plant.id))) resolve();
      else reject(new Error('the id is taken'));
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
