import { createHash } from 'node:crypto';
import type { MigratorOptions } from '../../../src/database/database.options.js';
import { MIGRATIONS } from '../../../src/database/generated/migrations.js';
import type { Migration } from '../../../src/database/migration-status.js';
import { Migrator } from '../../../src/index.js';

/** The migrator of a build that has other migrations: those of this one, and these, by name, in the place of theirs. */
export class MigratorWith extends Migrator {
  protected override readonly migrations: readonly Migration[];

  constructor(options: MigratorOptions, others: Readonly<Record<string, string>>) {
    super(options);
    const scripts = Object.entries(others).map(([name, sql]) => ({ name, checksum: checksumOf(sql), sql }));
    const own = MIGRATIONS.filter(({ name }) => others[name] === undefined);
    this.migrations = [...own, ...scripts].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

export function checksumOf(script: string | Buffer): string {
  return createHash('sha256').update(script).digest('hex');
}
