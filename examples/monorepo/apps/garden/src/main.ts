import { createGarden } from './create-garden.js';

const app = await createGarden();
await app.listen(process.env.PORT ?? 3000);
console.log(`Listening on ${await app.getUrl()}`);
