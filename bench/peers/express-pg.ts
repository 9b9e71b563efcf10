import express from 'express';
import pg from 'pg';
import { isAuthorized } from './bearer-token.js';
import type { NewPlant } from './plant-schema.js';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
const app = express();

app.use((request, response, next) => {
  if (isAuthorized(request.headers.authorization)) next();
  else response.status(401).json({ message: 'Unauthorized' });
});
app.use(express.json());

app.post('/plants', async (request, response) => {
  if (!isNewPlant(request.body)) {
    response.status(400).json({ message: 'a plant has an integer id, a name, and perhaps a tag' });
    return;
  }
  const { id, name, tag } = request.body;
  await pool.query({
    name: 'create-plant',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag],
  });
  response.json({ name, tag });
});

app.listen(Number(process.env.PORT), '127.0.0.1');

function isNewPlant(body: unknown): body is NewPlant {
  const { id, name, tag } = Object(body) as Record<string, unknown>;
  return Number.isSafeInteger(id) && typeof name === 'string' && (tag === undefined || typeof tag === 'string');
}
