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

/** Statements that are prepared at most on each connection: those that are sent again and again are far fewer. */
const MOST = 100;
const UNNAMED = '';

/**
 * Names statements by their text, so that PostgreSQL parses and plans each once on a connection. Those that come when there are too many
 * have no name, and are not kept.
 */
export function statementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size === MOST) return UNNAMED;
    const name = `plant_store_${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}
