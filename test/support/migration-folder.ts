import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS_FOLDER } from './schema-engine.js';

/** Migrations in a folder of their own: a copy of this package's, and others beside them. */
export class MigrationFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** @param empty without this package's migrations: those of another application are to come */
  static async create({ empty = false }: { empty?: boolean } = {}): Promise<MigrationFolder> {
    const path = await mkdtemp(join(tmpdir(), 'plant-store-migrations-'));
    const filter = (file: string): boolean => !empty || file === MIGRATIONS_FOLDER || file.endsWith('.toml');
    await cp(MIGRATIONS_FOLDER, path, { recursive: true, filter });
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
