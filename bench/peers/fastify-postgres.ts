import fastify from 'fastify';
import postgres from 'postgres';
import { isAuthorized } from './bearer-token.js';
import { type NewPlant, PLANT_SCHEMA } from './plant-schema.js';

// It prepares statements by itself, and sends several over one connection without waiting for the answers between them.
const sql = postgres(process.env.DATABASE_URL ?? '', { max: 10 });
// What is no string is refused, and not made one.
const app = fastify({ ajv: { customOptions: { coerceTypes: false } } });

app.addHook('onRequest', async (request, reply) => {
  if (!isAuthorized(request.headers.authorization)) await reply.code(401).send({ message: 'Unauthorized' });
});

app.post<{ Body: NewPlant }>('/plants', { schema: PLANT_SCHEMA }, async ({ body: { id, name, tag } }) => {
  await sql`INSERT INTO plants (id, name, tag) VALUES (${id}, ${name}, ${tag ?? null})`;
  return { name, tag };
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
