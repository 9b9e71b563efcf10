import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from './generated/client.js';
import { StorePool } from './store-pool.js';

/** Prisma's client, on the connections of the store. */
@Injectable()
export class PrismaService extends PrismaClient implements OnModuleInit {
  /** The names of prepared statements, by text. */
  private readonly names: Map<string, string>;

  constructor(private readonly pool: StorePool) {
    const names = new Map<string, string>();
    const adapter = new PrismaPg(pool, {
      schema: escapeSchema(pool.schema),
      statementNameGenerator: (query) => {
        // Prisma's debug log keeps the last hundred queries. Their values, which were read before, would stay in memory.
        query.args.length = 0;
        return names.get(query.sql) ?? '';
      },
    });
    // The adapter knows only the Pool of its own copy of pg. It takes that of another copy for a configuration, and
    // connects to localhost. A host may have two copies.
    Reflect.set(adapter, 'externalPool', pool);
    // Otherwise each call would capture a stack for its error message.
    super({ adapter, errorFormat: 'minimal' });
    this.names = names;
  }

  /** The first use of the client loads it. No create waits for that. */
  async onModuleInit(): Promise<void> {
    await this.$connect();
  }

  /** Runs a statement whose text is one of few. Each connection parses it once, unless the session is not kept. */
  queryPrepared<Row>(sql: Prisma.Sql): Promise<Row[]> {
    const { names, pool } = this;
    const { text } = sql;
    if (pool.keepsSessions && !names.has(text)) names.set(text, `plant_store_${names.size + 1}`);
    return this.$queryRaw<Row[]>(sql);
  }
}

/** Escapes the name of a schema. Prisma puts it between quotes and escapes none in it. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
