import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const NODE_MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));

const SCHEMA = `
datasource db {
  provider = "postgresql"
}
generator client {
  provider = "prisma-client"
  output   = "client"
}
model Order {
  id       BigInt   @id
  item     String
  placedAt DateTime @map("placed_at") @db.Timestamptz(6)
  @@map("orders")
}
`;

/** The same table in SQL, with one order in it. */
export const ORDERS = `
  CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL, placed_at timestamptz NOT NULL DEFAULT '2026-01-01Z');
  INSERT INTO orders (id, item) VALUES (9007199254740993, 'a spade');
`;

export interface Order {
  id: bigint;
  item: string;
  placedAt: Date;
}

/** What a host uses of its own Prisma client. */
export interface HostPrismaClient {
  order: { findMany(): Promise<Order[]>; create(args: { data: Order }): Promise<Order> };
  $disconnect(): Promise<void>;
}

export interface HostPrisma {
  Client: new (options: { adapter: unknown }) => HostPrismaClient;
  remove(): Promise<void>;
}

/** Generates a client from a schema of a host's own, as a host does when it is built. */
export async function generateHostPrisma(): Promise<HostPrisma> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-host-'));
  await symlink(NODE_MODULES, join(folder, 'node_modules'));
  await writeFile(join(folder, 'schema.prisma'), SCHEMA);
  await promisify(execFile)(
    process.execPath,
    [join(NODE_MODULES, 'prisma/build/index.js'), 'generate', '--schema', 'schema.prisma'],
    // Any existing file will do for an engine that is never run; without, Prisma would download one.
    { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath } },
  );
  const client = (await import(pathToFileURL(join(folder, 'client/client.ts')).href)) as {
    PrismaClient: HostPrisma['Client'];
  };
  return { Client: client.PrismaClient, remove: () => rm(folder, { recursive: true }) };
}
