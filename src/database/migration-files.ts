import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationDirectory, MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';

const LOCK_FILE = 'migration_lock.toml';
const SCRIPT = 'migration.sql';

/** Reads a folder of migrations, oldest first, as the schema engine wants them. */
export async function readMigrations(folder: string): Promise<MigrationList> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return {
    baseDir: folder,
    lockfile: { path: LOCK_FILE, content: await readFile(join(folder, LOCK_FILE), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(names.sort().map((name) => readMigration(folder, name))),
  };
}

async function readMigration(folder: string, name: string): Promise<MigrationDirectory> {
  const value = await readFile(join(folder, name, SCRIPT), 'utf8');
  return { path: name, migrationFile: { path: SCRIPT, content: { tag: 'ok', value } } };
}
