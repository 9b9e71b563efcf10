import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js'; // made by: npm run prisma:generate
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
      statementNameGenerator: ({ sql }) => names.get(sql) ?? '',
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

  /**
   * Runs a statement whose text is one of few, and holds no value. Each connection parses it once, unless the session is
   * not kept.
   */
  async queryPrepared<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const { names, pool } = this;
    if (pool.keepsSessions && !names.has(text)) names.set(text, `plant_store_${names.size + 1}`);
    // A text that is made once costs less than a template, which Prisma would join at each call.
    return this.$queryRawUnsafe<Row[]>(text, ...values);
  }
}

/** Escapes the name of a schema. Prisma puts it between quotes and escapes none in it. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
