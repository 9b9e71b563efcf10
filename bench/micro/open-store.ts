import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ACCESS_TOKEN } from '../server/target-server.js';
import { loadBuild } from './load-build.js';

/** The store in this process, without a listener. */
export async function openStore(databaseUrl: string): Promise<INestApplicationContext> {
  const { AuthModule, BearerAuthGuard, PlantsModule } =
    await loadBuild<typeof import('../../src/index.js')>('index.js');
  const auth = AuthModule.forRoot({ accessTokens: [ACCESS_TOKEN] });
  const plants = PlantsModule.forRoot({ database: { url: databaseUrl }, guards: [BearerAuthGuard], imports: [auth] });
  const app = await NestFactory.create(plants, { logger: false, abortOnError: false, bodyParser: false });
  return app.init();
}
