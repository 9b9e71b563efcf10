import type { Citus } from '../citus/citus.js';
import type { Query } from './database.js';

/**
 * What the store does on a cluster of Citus; undefined if the extension is not installed. This is the only import upwards: no
 * other code knows of it, and without a cluster it is not loaded.
 */
export async function loadCitus(query: Query, schema: string): Promise<Citus | undefined> {
  const found = await query(`SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'`);
  if (found.length === 0) return undefined;
  const citus = await import('../citus/citus.js');
  return new citus.Citus(query, schema);
}
