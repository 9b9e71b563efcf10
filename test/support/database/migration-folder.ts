import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOCK_FILE, MIGRATIONS_FOLDER } from './schema-engine.js';

/** Migrations of another application, in a folder of their own. */
export class MigrationFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async create(): Promise<MigrationFolder> {
    const path = await mkdtemp(join(tmpdir(), 'plant-store-migrations-'));
    await cp(join(MIGRATIONS_FOLDER, LOCK_FILE), join(path, LOCK_FILE));
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
