import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { MIGRATIONS_FOLDER } from '../../src/database/migration-files.js';

/** A copy of this package's migrations, for a build that has others. */
export class MigrationFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async create(): Promise<MigrationFolder> {
    const path = await mkdtemp(join(tmpdir(), 'plant-store-migrations-'));
    await cp(MIGRATIONS_FOLDER, path, { recursive: true });
    return new MigrationFolder(path);
  }

  async write(name: string, sql: string): Promise<void> {
    await mkdir(join(this.path, name), { recursive: true });
    await writeFile(join(this.path, name, 'migration.sql'), sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true });
  }
}
