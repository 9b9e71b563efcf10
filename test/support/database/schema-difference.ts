import { PrismaPg } from '@prisma/adapter-pg';
import { ColumnTypeEnum } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import type { DatabaseUrl } from '../../../src/database/database-url.js';
import { withSchemaEngine } from './schema-engine.js';

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
