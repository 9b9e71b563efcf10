import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import type { HostPool } from './host-pool.js';

/**
 * Puts an adapter of Prisma's over a pool. Its constructor would take a pool for a configuration if that comes from another copy of
 * pg than the adapter's own, and an application may have several.
 */
export function overPool<Factory extends PrismaPg>(factory: Factory, pool: pg.Pool | HostPool): Factory {
  Reflect.set(factory, 'externalPool', pool);
  return factory;
}

/** The name of a schema for Prisma, which puts it between quotes and leaves those within it as they are. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
