import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { Debug as ClientDebug } from '@prisma/client/runtime/client';
import { Debug as AdapterDebug } from '@prisma/driver-adapter-utils';
import { type Prisma, PrismaClient } from './generated/client.js';
import { StorePool } from './store-pool.js';

/** Prisma keeps the last entries of its debug log, with all values of a statement, though nobody reads it. */
const LOGS = [ClientDebug('plant-store'), AdapterDebug('plant-store')];
const KEPT_ENTRIES = 100;
/** Values of so many characters together are pushed out of the logs. */
const LARGE_VALUES = 2 ** 16;

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

  /** Runs a statement whose text is one of few. Each connection parses it once, unless the session is not kept. */
  async queryPrepared<Row>(sql: Prisma.Sql): Promise<Row[]> {
    const { names, pool } = this;
    const { text, values } = sql;
    if (pool.keepsSessions && !names.has(text)) names.set(text, `plant_store_${names.size + 1}`);
    try {
      return await this.$queryRaw<Row[]>(sql);
    } finally {
      if (charactersOf(values) > LARGE_VALUES)
        for (const log of LOGS) for (let entry = 0; entry < KEPT_ENTRIES; entry += 1) log('');
    }
  }
}

/** Escapes the name of a schema. Prisma puts it between quotes and escapes none in it. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}

function charactersOf(values: readonly unknown[]): number {
  return values.flat().reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}
