import { join } from 'node:path';
import 'reflect-metadata';
import type { AppOptions } from '../../src/app.module.js';

// The store as `serve` runs it, with every request going through Express.
const build = process.env.BUILD ?? '';
const { loadEnvironment } =
  await load<typeof import('../../src/config/load-environment.js')>('config/load-environment.js');
const { createApp } = await load<typeof import('../../src/create-app.js')>('create-app.js');

const environment = loadEnvironment(process.env);
const app = await createApp(environment as AppOptions);
await app.listen(environment.port, environment.host);

function load<Module>(path: string): Promise<Module> {
  return import(join(build, path)) as Promise<Module>;
}
