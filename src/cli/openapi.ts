import { loadEnvironment } from '../app/config.js';
import { createApp } from '../app/create-app.js';
import { createOpenApiDocument } from '../http/openapi.js';
import { print } from './output.js';

/** `plant-store openapi`: prints the document that the service would serve. Connects to nothing. */
export async function openapi(): Promise<void> {
  const environment = loadEnvironment({ ...process.env, NODE_ENV: 'development', LOG_LEVEL: 'fatal' });
  const databaseUrl = environment.databaseUrl ?? 'postgresql://localhost/plants';
  const app = await createApp(Object.assign(environment, { databaseUrl, docs: false }));
  await print(JSON.stringify(createOpenApiDocument(app, environment), undefined, 2));
}
