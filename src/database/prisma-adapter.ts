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

/** Statements that are prepared on each connection; those that are repeated are far fewer. */
const MAX_NAMED_STATEMENTS = 100;
const UNNAMED = '';

/**
 * Names statements by their text, so that PostgreSQL parses and plans each once on a connection. When there are too many, further
 * ones get no name, and are not kept.
 */
export function statementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size === MAX_NAMED_STATEMENTS) return UNNAMED;
    const name = `plant_store_${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}
