// A host as in tests that never close it: the process has to end when nothing but the store is left.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { BearerAuthGuard, PlantsAuthModule, PlantsModule, PlantsService } from 'plant-store';

const database = { url: process.env.DATABASE_URL };
class HostModule {}
const imports = [PlantsAuthModule.forRoot({ issuedTokens: database })];
Module({ imports: [PlantsModule.forRoot({ database, guards: [BearerAuthGuard], imports })] })(HostModule);
const app = await NestFactory.create(HostModule, new FastifyAdapter(), { rawBody: true, logger: false });
await app.init();
await app.get(PlantsService, { strict: false }).create({ id: 1n, name: 'Rose' });
const headers = { authorization: 'Bearer plant_unknown', 'content-type': 'application/json' };
const answer = await app.inject({ method: 'POST', url: '/plants', headers, payload: '{}' });
if (answer.statusCode !== 400) process.exit(2);
// Idle connections of pg end after ten seconds. This timer itself keeps nothing alive.
globalThis.setTimeout(() => process.exit(3), 8000).unref();
