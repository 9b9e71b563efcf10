import { Injectable } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { Database, type QueryConfig } from './database.js';
import { PrismaClient } from './generated/client.js';

/** Statements report a lost connection, so nobody needs its events. */
const NO_EVENTS = { on: () => undefined, removeListener: () => undefined };

/** Prisma's client, over the connections of the store. */
@Injectable()
export class PrismaService extends PrismaClient {
  constructor(database: Database) {
    const adapter = new PrismaPg({}, { schema: escapeSchema(database.schema) });
    // Prisma's statements go the way of all others. On a bare pool, a timeout or a commit without its standby would not
    // be noticed. The constructor of the adapter knows only the pool of its own copy of pg.
    Reflect.set(adapter, 'externalPool', {
      query: (statement: QueryConfig) => database.execute(statement),
      connect: async () => Object.assign(await database.connect(), NO_EVENTS),
      ...NO_EVENTS,
    });
    super({ adapter });
  }
}

/** Escapes the name of a schema. Prisma puts it between quotes and escapes none in it. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
