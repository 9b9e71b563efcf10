import fastify from 'fastify';
import { timingSafeEqual } from 'node:crypto';
import pg from 'pg';
import postgres from 'postgres';
import { insertInBatches } from './batches.js';

export interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

type Insert = (plant: NewPlant) => Promise<unknown>;

/** By which Fastify validates requests and writes answers. */
const SCHEMA = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      // Of int64, what JSON.parse does not round.
      id: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      name: { type: 'string' },
      tag: { type: 'string' },
    },
  },
  response: {
    200: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, tag: { type: 'string' } } },
  },
};

const { ACCESS_TOKENS = '', DATABASE_URL = '', PORT } = process.env;
const expected = Buffer.from(`Bearer ${ACCESS_TOKENS}`);
const INSERTS: Record<string, () => Insert> = {
  pg: insertByPg,
  'postgres.js': insertByPostgres,
  batches: () => insertInBatches(new pg.Pool({ connectionString: DATABASE_URL, max: 10 })),
};
const insert = (INSERTS[process.argv[2] ?? ''] ?? insertByPg)();
// What is no string is refused, and not made one.
const app = fastify({ ajv: { customOptions: { coerceTypes: false } } });

app.addHook('onRequest', async (request, reply) => {
  const given = Buffer.from(request.headers.authorization ?? '');
  const isAuthorized = given.length === expected.length && timingSafeEqual(given, expected);
  if (!isAuthorized) await reply.code(401).send({ message: 'Unauthorized' });
});

app.post<{ Body: NewPlant }>('/plants', { schema: SCHEMA }, async ({ body }) => {
  await insert(body);
  return { name: body.name, tag: body.tag };
});

await app.listen({ port: Number(PORT), host: '127.0.0.1' });

/** A statement with a name is prepared once for each connection. */
function insertByPg(): Insert {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
  const text = 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)';
  return ({ id, name, tag }) => pool.query({ name: 'create-plant', text, values: [id, name, tag] });
}

/** It prepares statements by itself, and sends several over one connection before the first is answered. */
function insertByPostgres(): Insert {
  const sql = postgres(DATABASE_URL, { max: 10 });
  return async ({ id, name, tag }) =>
    await sql`INSERT INTO plants (id, name, tag) VALUES (${id}, ${name}, ${tag ?? null})`;
}
