import fastify from 'fastify';
import pg from 'pg';
import { isAuthorized } from './bearer-token.js';
import { type NewPlant, PLANT_SCHEMA } from './plant-schema.js';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
// What is no string is refused, and not made one.
const app = fastify({ ajv: { customOptions: { coerceTypes: false } } });

app.addHook('onRequest', async (request, reply) => {
  if (!isAuthorized(request.headers.authorization)) await reply.code(401).send({ message: 'Unauthorized' });
});

app.post<{ Body: NewPlant }>('/plants', { schema: PLANT_SCHEMA }, async ({ body: { id, name, tag } }) => {
  await pool.query({
    // A statement with a name is prepared once for each connection.
    name: 'create-plant',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag],
  });
  return { name, tag };
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
