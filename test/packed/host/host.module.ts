import { Module } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';

const { DATABASE_URL = '', ACCESS_TOKEN = '', PLATFORM } = process.env;
const database = { url: DATABASE_URL };

/** Nest's own choice unless it is Fastify: Express need not be installed. */
export const createAdapter = (): AbstractHttpAdapter =>
  PLATFORM === 'fastify' ? new FastifyAdapter() : (undefined as never);

@Module({
  imports: [
    PlantsModule.forRootAsync({
      useFactory: () => ({ database }),
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [ACCESS_TOKEN], issuedTokens: database })],
    }),
  ],
})
export class HostModule {}
