import { expect } from '@jest/globals';
import { parseDatabaseUrl } from '../../../src/database/database-url.js';
import {
  deployByPrisma,
  diagnoseByPrisma,
  MigrationFolder,
  readMigrations,
  schemaDifference,
} from '../database/schema-engine.js';

/** The application's, which has plants as well, of another kind. */
export const HOST_MODELS = `
  datasource db {
    provider = "postgresql"
  }
  model Factory {
    id     Int     @id
    plants Plant[]
    @@map("factories")
  }
  model Plant {
    name      String  @id
    factoryId Int     @map("factory_id")
    factory   Factory @relation(fields: [factoryId], references: [id])
    @@map("plants")
  }`;
const HOST_MIGRATION = `
  CREATE TABLE "factories" ("id" INTEGER NOT NULL, CONSTRAINT "factories_pkey" PRIMARY KEY ("id"));
  CREATE TABLE "plants" (
    "name" TEXT NOT NULL, "factory_id" INTEGER NOT NULL, CONSTRAINT "plants_pkey" PRIMARY KEY ("name"));
  ALTER TABLE "plants" ADD CONSTRAINT "plants_factory_id_fkey"
    FOREIGN KEY ("factory_id") REFERENCES "factories"("id") ON DELETE RESTRICT ON UPDATE CASCADE;`;

/** By which the application's own Prisma Migrate brings `public` to its models: the same engine, with its own migrations. */
export class HostMigrations implements AsyncDisposable {
  private constructor(
    private readonly url: string,
    private readonly folder: MigrationFolder,
  ) {}

  static async of(url: string): Promise<HostMigrations> {
    const folder = await MigrationFolder.create();
    await folder.write('20200101000000_factories', HOST_MIGRATION);
    return new HostMigrations(url, folder);
  }

  async deploy(): Promise<string[]> {
    return deployByPrisma(parseDatabaseUrl(this.url), await readMigrations(this.folder.path));
  }

  async deployMore(): Promise<void> {
    await this.folder.write('20300101000000_address', 'ALTER TABLE "factories" ADD COLUMN "address" TEXT;');
    expect(await this.deploy()).toEqual(['20300101000000_address']);
  }

  /** What the application would find to have drifted: its history, or its tables. */
  async drift(models = HOST_MODELS): Promise<unknown> {
    expect(await diagnoseByPrisma(parseDatabaseUrl(this.url), await readMigrations(this.folder.path))).toBeNull();
    return schemaDifference(parseDatabaseUrl(this.url), models);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.folder[Symbol.asyncDispose]();
  }
}
