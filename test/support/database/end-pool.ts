import type pg from 'pg';

/**
 * Ends a pool whose database is dropped next. pg does not wait until its sessions have ended, so the drop may end one
 * before, and the pool would emit that to no listener.
 */
export async function endPool(pool: pg.Pool): Promise<void> {
  pool.on('error', () => undefined);
  await pool.end();
}
