import { join } from 'node:path';
import 'reflect-metadata';
import type { AppOptions } from '../../src/app.module.js';

// The store as `serve` runs it, but that every request goes through Express.
const build = process.env.BUILD ?? '';
const { loadEnvironment } = (await import(
  join(build, 'config/load-environment.js')
)) as typeof import('../../src/config/load-environment.js');
const { createApp }: { createApp: CreateApp } = (await import(
  join(build, 'create-app.js')
)) as typeof import('../../src/create-app.js');

const environment = loadEnvironment(process.env);
const app = await createApp(environment as AppOptions, { directDispatch: false });
await app.listen(environment.port, environment.host);

type CreateApp = (
  options: AppOptions,
  ways: { directDispatch: boolean },
) => Promise<{ listen(port: number, host: string): Promise<unknown> }>;
