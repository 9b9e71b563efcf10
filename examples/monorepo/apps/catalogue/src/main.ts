import { createCatalogue } from './create-catalogue.js';

const app = await createCatalogue();
// Fastify listens on localhost alone by default.
await app.listen(process.env.PORT ?? 3001, '0.0.0.0');
console.log(`Listening on ${await app.getUrl()}`);
