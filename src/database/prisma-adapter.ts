import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import type { LentPool } from './host-pool.js';

/**
 * Puts an adapter of Prisma's over a pool. Given to its constructor, a pool that is no instance of the adapter's own copy of
 * pg, of which an application may have several, would be taken for a configuration.
 */
export function overPool<Factory extends PrismaPg>(factory: Factory, pool: pg.Pool | LentPool): Factory {
  Reflect.set(factory, 'externalPool', pool);
  return factory;
}

/** The name of a schema as Prisma wants it, which puts it between quotes and leaves those within as they are. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
