import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import type { MigrationDirectory, MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { fileURLToPath } from 'node:url';
import type { DatabaseUrl } from '../../../src/database/database-url.js';

const ENGINE = new URL('../../../node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm', import.meta.url);

/** Runs `work` with Prisma's schema engine, which is compiled to WebAssembly and connected to the database. */
export async function withSchemaEngine<T>(
  database: DatabaseUrl,
  work: (engine: SchemaEngine) => Promise<T>,
  AdapterFactory: typeof PrismaPg = ScriptAdapterFactory,
): Promise<T> {
  const { SchemaEngine } = await (engineModule ??= instantiateEngine());
  const pool = openPool(database);
  try {
    // The same class: to TypeScript a package has one for each kind of module.
    const adapter = new AdapterFactory({}, { schema: database.schema });
    // Given to the constructor, a pool of another copy of pg would be taken for a configuration.
    Reflect.set(adapter, 'externalPool', pool);
    const engine = await SchemaEngine.new(
      { datamodels: undefined },
      // What matters of the engine's log is in its results and errors too.
      () => undefined,
      bindMigrationAwareSqlAdapterFactory(adapter),
    );
    // Left to the garbage collector: to free an engine that has panicked would fail, and hide why.
    return await work(engine);
  } finally {
    await pool.end();
  }
}

function openPool(database: DatabaseUrl): pg.Pool {
  const { config, schema } = database;
  const selectSchema = `SET search_path TO ${pg.escapeIdentifier(schema)}`;
  return new pg.Pool({
    ...config,
    verify: (client, done) => {
      // Neither the migrations nor the engine name the schema in their statements.
      client.query(selectSchema, (error: Error | undefined) => {
        done(error);
      });
    },
  });
}

/**
 * The adapter cuts scripts at every semicolon, in texts and functions too, and commits each piece by itself. Prisma's own engine
 * binary sends a script whole, as one transaction, and so does this.
 */
class ScriptAdapterFactory extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    adapter.executeScript = async (sql): Promise<void> => {
      await adapter.executeRaw({ sql, args: [], argTypes: [] });
    };
    return adapter;
  }
}

type EngineModule = typeof import('@prisma/schema-engine-wasm/schema_engine_bg');

let engineModule: Promise<EngineModule> | undefined;

/** Where Prisma's WebAssembly modules report why they panic, in the moment before they end the process. */
const panics = globalThis as { PRISMA_WASM_PANIC_REGISTRY?: { set_message: (message: string) => void } };

/** Node has it, Node's type declarations have not. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: Record<string, object>,
  ): Promise<{ instance: { exports: { __wbindgen_start: () => void } } }>;
};

/** The package imports its .wasm file as a module, which Node does only behind a flag. */
async function instantiateEngine(): Promise<EngineModule> {
  // The Prisma client has set one like it, if the process uses the client too.
  panics.PRISMA_WASM_PANIC_REGISTRY ??= {
    set_message: (message) => {
      throw new Error(`Prisma's schema engine failed of a fault of its own: ${message}`);
    },
  };
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const bytes = await readFile(ENGINE);
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': withIdleTimers(glue) });
  glue.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return glue;
}

/** The engine sets timers that it never clears: they must not keep the process from ending. */
function withIdleTimers(glue: EngineModule): object {
  const setIdleTimeout = (callback: () => void, delay: number): NodeJS.Timeout => setTimeout(callback, delay).unref();
  return Object.fromEntries(
    Object.entries(glue).map(([name, value]) => [name, name.startsWith('__wbg_setTimeout_') ? setIdleTimeout : value]),
  );
}

/** This package's own. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
const NO_FILTERS = { externalTables: [], externalEnums: [] };

/** What `prisma migrate deploy` does. Returns the names of what it applied. */
export function deployByPrisma(database: DatabaseUrl, migrationsList: MigrationList): Promise<string[]> {
  const input = { migrationsList, filters: NO_FILTERS };
  return withSchemaEngine(database, async (engine) => (await engine.applyMigrations(input)).appliedMigrationNames);
}

/** What `prisma migrate status` finds; null if the database is up to date, and nothing was edited or failed. */
export function diagnoseByPrisma(database: DatabaseUrl, migrationsList: MigrationList): Promise<object | null> {
  return withSchemaEngine(database, async (engine) => {
    const input = { migrationsList, filters: NO_FILTERS, optInToShadowDatabase: false };
    const { history, editedMigrationNames, failedMigrationNames, hasMigrationsTable } =
      await engine.diagnoseMigrationHistory(input);
    const isCurrent = history == null && hasMigrationsTable;
    if (isCurrent && editedMigrationNames.length + failedMigrationNames.length === 0) return null;
    return { history, editedMigrationNames, failedMigrationNames, hasMigrationsTable };
  });
}

export const LOCK_FILE = 'migration_lock.toml';
const SCRIPT = 'migration.sql';

/** Reads a folder of migrations, this package's own unless given, oldest first, as the schema engine wants them. */
export async function readMigrations(folder = MIGRATIONS_FOLDER): Promise<MigrationList> {
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

const CHAR: number = pg.types.builtins.CHAR;
const TEXT: number = pg.types.builtins.TEXT;

/** The script that would bring the database to the schema, as Prisma's schema engine writes it. */
export function schemaDifference(database: DatabaseUrl, schema: string): Promise<string | null> {
  const files = [{ path: 'schema.prisma', content: schema }];
  return withSchemaEngine(
    database,
    async (engine) => {
      const { stdout } = await engine.diff({
        from: { tag: 'schemaDatasource', files, configDir: '' },
        to: { tag: 'schemaDatamodel', files },
        script: true,
        exitCode: null,
        filters: { externalTables: [], externalEnums: [] },
      });
      return stdout;
    },
    CatalogueAdapterFactory,
  );
}

/** The engine reads catalogue columns of the type "char" to see a schema; Prisma's adapter refuses that type. */
class CatalogueAdapterFactory extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect();
    const pool = adapter.underlyingDriver();
    const query = pool.query.bind(pool) as (config: pg.QueryConfig) => Promise<pg.QueryResult>;
    const queryRaw = adapter.queryRaw.bind(adapter);
    // Read as text, and given to the engine with its real type. The engine asks one question at a time.
    let isChar: boolean[] = [];
    pool.query = (async (config: pg.QueryConfig) => {
      const result = await query(config);
      isChar = result.fields.map(({ dataTypeID }) => dataTypeID === CHAR);
      const fields = result.fields.map((field, index) => (isChar[index] ? { ...field, dataTypeID: TEXT } : field));
      return { ...result, fields };
    }) as typeof pool.query;
    adapter.queryRaw = async (sql) => {
      const result = await queryRaw(sql);
      const columnTypes = result.columnTypes.map((type, index) => (isChar[index] ? ColumnTypeEnum.Character : type));
      return { ...result, columnTypes };
    };
    return adapter;
  }
}
