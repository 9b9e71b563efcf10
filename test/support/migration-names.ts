import { readMigrations } from '../../src/database/migrations/schema-engine.js';
import { MIGRATIONS_FOLDER } from '../../src/util/package-files.cjs';

const { migrationDirectories } = await readMigrations(MIGRATIONS_FOLDER);

/** The migrations of this build, oldest first. */
export const MIGRATION_NAMES: readonly string[] = migrationDirectories.map(({ path }) => path);
