import { DEFAULT_SCHEMA } from '../database-options.js';
import { MigrationError } from '../migration.error.js';
import type { MigrationStatus } from '../migration-status.js';

/** A schema, and what to call it in messages: which schema of which database it is. */
export interface MigrationPlace {
  readonly schema: string;
  readonly place: string;
}

/** Where a schema is another application's. */
export const OWN_SCHEMA_ADVICE =
  'Give the store a schema of its own, by the option `schema`, and migrate that: ' +
  '`plant-store migrate --schema NAME`, or `new Migrator({ url, schema }).migrate()`';

/** Throws unless the schema has the migrations of this build, finished, and no others. */
export function assertMigrated(status: MigrationStatus, { schema, place }: MigrationPlace): void {
  assertHistoryUsable(status, place);
  if (status.pending.length > 0) {
    const lacks = `${place} is not migrated: it lacks ${status.pending.join(', ')}`;
    throw new MigrationError('pending', `${lacks}. Run ${migrateCommand(schema)}`);
  }
}

/** Throws where migrations that this build has not made, or not finished, stand in the way of its own. */
export function assertHistoryUsable({ applied, failed, unknown }: MigrationStatus, place: string): void {
  if (unknown.length > 0 && applied.length === 0) {
    throw new MigrationError(
      'foreign',
      `${place} belongs to another application, which has migrated it: ${unknown.join(', ')}. ${OWN_SCHEMA_ADVICE}`,
    );
  }
  if (failed.length > 0) {
    throw new MigrationError(
      'failed',
      `${place} has a migration that was begun and not finished: ${failed.join(', ')}. If another process is applying it, ` +
        `wait for that; if it failed, ${resolution(failed)}`,
    );
  }
  if (unknown.length > 0) {
    throw new MigrationError(
      'ahead',
      `${place} is migrated further than this build knows: ${unknown.join(', ')}. Deploy the newer build`,
    );
  }
}

/** What to do about failed migrations. */
export function resolution(failed: readonly string[]): string {
  const commands = failed.map((name) => `\`prisma migrate resolve --rolled-back ${name}\``);
  return `remove the cause, mark it as rolled back with ${commands.join(' and ')}, and run \`plant-store migrate\``;
}

function migrateCommand(schema: string): string {
  if (schema === DEFAULT_SCHEMA) return '`plant-store migrate`, or `new Migrator({ url }).migrate()`';
  const argument = /^\w+$/.test(schema) ? schema : `'${schema.replaceAll("'", `'\\''`)}'`;
  return `\`plant-store migrate --schema ${argument}\`, or \`new Migrator({ url, schema: ${JSON.stringify(schema)} }).migrate()\``;
}
