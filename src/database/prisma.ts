import { Injectable } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { Database, type QueryConfig } from './database.js';
import { PrismaClient } from './generated/client.js';

/** What fails with a lost connection hears of it by itself. */
const NO_EVENTS = { on: () => undefined, removeListener: () => undefined };

/** Prisma's client, over the connections of the store. */
@Injectable()
export class PrismaService extends PrismaClient {
  constructor(database: Database) {
    const adapter = new PrismaPg({}, { schema: escapeSchema(database.schema) });
    // The way of all other statements: on a bare pool a time limit, or a commit that the standby lacks, would not be noticed. Its constructor
    // would take what is no pool of its own copy of pg for a configuration.
    Reflect.set(adapter, 'externalPool', {
      query: (statement: QueryConfig) => database.execute(statement),
      connect: async () => Object.assign(await database.connect(), NO_EVENTS),
      ...NO_EVENTS,
    });
    super({ adapter });
  }
}

/** The name of a schema for Prisma, which puts it between quotes and leaves those within it as they are. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
