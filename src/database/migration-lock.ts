import pg from 'pg';
import { MigrationError } from './migration.error.js';

/** Any number that no other program is likely to use; this one spells "PLNT". */
const LOCK_CLASS = 0x504c4e54;
/** The lock that Prisma's schema engine takes by itself, for the whole database, and waits ten seconds for. */
const PRISMA_LOCK = 72707369;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Makes this connection the only one that migrates the schema, until it ends. Waits for other migrators,
 * those of `prisma migrate` included, for `timeout` milliseconds.
 */
export async function acquireMigrationLock(client: pg.ClientBase, schema: string, timeout: number): Promise<void> {
  try {
    await client.query(`SELECT set_config('lock_timeout', $1, false)`, [String(timeout)]);
    await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [LOCK_CLASS, schema]);
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
    // The engine takes it on a connection of its own.
    await client.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    throw new MigrationError(
      'locked',
      `another process is migrating schema ${schema} and has not finished within ${timeout} ms: ` +
        'let it finish, or end its connection if it hangs, and try again',
      { cause: error },
    );
  }
}
