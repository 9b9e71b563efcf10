import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import type { SchemaEngine } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import type { DatabaseUrl } from '../../../src/database/database-url.js';

const ENGINE = new URL('../../../node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm', import.meta.url);
const CHAR: number = pg.types.builtins.CHAR;
const TEXT: number = pg.types.builtins.TEXT;
const FILTERS = { externalTables: [], externalEnums: [] };

/** What the command line of Prisma does with a schema of a database, by Prisma's own engine, which is compiled to WebAssembly. */
export class PrismaMigrate {
  /** @param migrations those of the folder that the command line would read, oldest first */
  constructor(
    private readonly database: DatabaseUrl,
    private readonly migrations: readonly { readonly name: string; readonly sql: string }[],
  ) {}

  /** `prisma migrate deploy`. Returns the names of what it applied. */
  deploy(): Promise<string[]> {
    const input = { migrationsList: this.list, filters: FILTERS };
    return this.withEngine(async (engine) => (await engine.applyMigrations(input)).appliedMigrationNames);
  }

  /** `prisma migrate status` and `diff`: what it finds wrong with the history, and the script that would bring the tables to these models. */
  findDrift(models: string): Promise<unknown[]> {
    return this.withEngine(async (engine) => {
      const { history, editedMigrationNames, failedMigrationNames, hasMigrationsTable } =
        await engine.diagnoseMigrationHistory({
          migrationsList: this.list,
          filters: FILTERS,
          optInToShadowDatabase: false,
        });
      const files = [{ path: 'schema.prisma', content: models }];
      const { stdout } = await engine.diff({
        from: { tag: 'schemaDatasource', files, configDir: '' },
        to: { tag: 'schemaDatamodel', files },
        script: true,
        exitCode: null,
        filters: FILTERS,
      });
      const script = stdout === '-- This is an empty migration.\n' ? [] : [stdout];
      const missing = hasMigrationsTable ? [] : ['no history'];
      return [history ?? [], editedMigrationNames, failedMigrationNames, missing, script].flat();
    });
  }

  private get list() {
    return {
      baseDir: '',
      lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"' },
      shadowDbInitScript: '',
      migrationDirectories: this.migrations.map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } as const },
      })),
    };
  }

  private async withEngine<T>(work: (engine: SchemaEngine) => Promise<T>): Promise<T> {
    const { config, schema } = this.database;
    // Neither the migrations nor the engine name the schema in their statements.
    const verify: pg.PoolConfig['verify'] = (client, done) => {
      client.query(`SET search_path TO ${pg.escapeIdentifier(schema)}`, (error: Error | undefined) => {
        done(error);
      });
    };
    const pool = new pg.Pool({ ...config, verify });
    try {
      const { SchemaEngine } = await (engineModule ??= instantiateEngine());
      const adapter = new CatalogueAdapterFactory({}, { schema });
      // Given to the constructor, a pool of another copy of pg would be taken for a configuration.
      Reflect.set(adapter, 'externalPool', pool);
      const factory = bindMigrationAwareSqlAdapterFactory(adapter);
      // What matters of the engine's log is in its results and errors too.
      const engine = await SchemaEngine.new({ datamodels: undefined }, () => undefined, factory);
      // Left to the garbage collector: to free an engine that has panicked would fail, and hide why.
      return await work(engine);
    } finally {
      await pool.end();
    }
  }
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

type EngineModule = typeof import('@prisma/schema-engine-wasm/schema_engine_bg');

let engineModule: Promise<EngineModule> | undefined;

/** Node has it, Node's type declarations have not. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: Record<string, object>,
  ): Promise<{ instance: { exports: { __wbindgen_start: () => void } } }>;
};

/** The package imports its .wasm file as a module, which Node does only behind a flag. */
async function instantiateEngine(): Promise<EngineModule> {
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  // The engine sets timers that it never clears: they must not keep the process from ending.
  const setIdleTimeout = (callback: () => void, delay: number): NodeJS.Timeout => setTimeout(callback, delay).unref();
  const imports = Object.entries(glue).map(([name, value]) => [
    name,
    name.startsWith('__wbg_setTimeout_') ? setIdleTimeout : value,
  ]);
  const { instance } = await WebAssembly.instantiate(await readFile(ENGINE), {
    './schema_engine_bg.js': Object.fromEntries(imports) as object,
  });
  glue.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return glue;
}
