import { Injectable } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { Database, type Statement } from './database.js';
import { PrismaClient } from './generated/client.js';

/** Prisma's client, over the connections of the store. */
@Injectable()
export class PrismaService extends PrismaClient {
  constructor(database: Database) {
    const adapter = new PrismaPg({}, { schema: escapeSchema(database.schema) });
    // The way of all other statements: on a bare pool a time limit, or a commit that the standby lacks, would not be noticed. Its constructor
    // would take what is no pool of its own copy of pg for a configuration. Lost idle connections are no matter of Prisma's.
    Reflect.set(adapter, 'externalPool', {
      query: (statement: Statement) => database.execute(statement),
      connect: () => database.connect(),
      on: () => undefined,
    });
    super({ adapter });
  }
}

/** The name of a schema for Prisma, which puts it between quotes and leaves those within it as they are. */
export function escapeSchema(schema: string): string {
  return schema.replaceAll('"', '""');
}
