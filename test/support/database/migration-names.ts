import { MIGRATIONS } from '../../../src/database/generated/migrations.js';

/** The migrations of this build, oldest first. */
export const MIGRATION_NAMES: readonly string[] = MIGRATIONS.map(({ name }) => name);
