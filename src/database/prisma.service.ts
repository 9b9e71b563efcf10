import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { hash } from 'node:crypto';
import { PrismaClient } from './generated/client.js'; // made by: npm run prisma:generate
import { StorePool } from './store-pool.js';

/** Prisma's client, on the connections of the store. It runs statements, no transactions; their texts are few. */
@Injectable()
export class PrismaService extends PrismaClient implements OnModuleInit {
  constructor(pool: StorePool) {
    const names = new Map<string, string>();
    // The name is made of the text: two processes behind one pooler mean the same statement by one name.
    const nameOf = (sql: string): string => {
      let name = names.get(sql);
      if (name === undefined) names.set(sql, (name = `plant_store_${hash('sha256', sql, 'hex').slice(0, 16)}`));
      return name;
    };
    const adapter = new PrismaPg(
      {},
      {
        // Prisma puts it between quotes and escapes none in it.
        schema: pool.schema.replaceAll('"', '""'),
        // Each connection parses a statement once, unless its session is not kept.
        ...(pool.keepsSessions && { statementNameGenerator: ({ sql }: { sql: string }) => nameOf(sql) }),
      },
    );
    // A private member: the adapter takes a pool only from its own copy of pg, and else connects to localhost.
    // store-pool.spec.ts fails if this has no effect any more.
    Reflect.set(adapter, 'externalPool', pool);
    // Otherwise each call would capture a stack for its error message.
    super({ adapter, errorFormat: 'minimal' });
  }

  /** The first use of the client loads it. No create waits for that. */
  async onModuleInit(): Promise<void> {
    await this.$connect();
  }
}
