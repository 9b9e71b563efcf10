import type { Citus } from '../citus/citus.js';
import type { Query } from './database.js';

/** Limit of the wait for a table in use, as creates wait behind it: shorter than they may wait. */
export const LOCK_TIMEOUT_MS = 2000;

export async function isCitusInstalled(query: Query): Promise<boolean> {
  return (await query(`SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'`)).length > 0;
}

/**
 * What the store does on a cluster of Citus; undefined if the extension is not installed. This is the only import upwards: no
 * other code knows of it, and without a cluster it is not loaded.
 */
export async function loadCitus(query: Query, schema: string): Promise<Citus | undefined> {
  if (!(await isCitusInstalled(query))) return undefined;
  const citus = await import('../citus/citus.js');
  return new citus.Citus(query, schema);
}
