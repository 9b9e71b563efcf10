import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { IsInt, validateSync } from 'class-validator';
import { syncBuiltinESMExports } from 'node:module';
import pg from 'pg';
import { changes, processState } from './process-state.mjs';

/**
 * Runs an application without the store and then one with it, and prints what of the process's own the store has changed
 * by when, and who of its files has read environment variables. The process then has to end by itself.
 */
const [platform, url, token, spoiled] = process.argv.slice(2);
const STORE = new URL('../../../dist/', import.meta.url).href;

const readers = new Set();
process.env = new Proxy(process.env, {
  get: (variables, name) => {
    const [, , reader = ''] = new Error('for its stack').stack.split('\n');
    if (reader.includes(STORE)) readers.add(reader.trim());
    return Reflect.get(variables, name);
  },
});
syncBuiltinESMExports();

const { fetch } = globalThis;

// A connection that stays open would hold up the end.
const CLOSE = { Connection: 'close' };

class Order {}
IsInt()(Order.prototype, 'count');

class OrdersController {
  find() {
    return validateSync(plainToInstance(Order, { count: 'none' })).length;
  }
}
Controller('orders')(OrdersController);
Get()(OrdersController.prototype, 'find', Object.getOwnPropertyDescriptor(OrdersController.prototype, 'find'));

const logged = [];
const logger = Object.fromEntries(
  ['log', 'warn', 'error', 'debug', 'verbose', 'fatal'].map((level) => [
    level,
    (...entry) => level !== 'log' && logged.push(`${level} of ${entry.at(-1)}`),
  ]),
);

async function run(imports, work, prepare) {
  class HostModule {}
  Module({ imports, controllers: [OrdersController] })(HostModule);
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(HostModule, adapter, { logger, rawBody: true });
  prepare?.(app);
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const address = `http://127.0.0.1:${app.getHttpServer().address().port}`;
  const orders = await fetch(`${address}/orders`, { headers: CLOSE });
  const answers = [await orders.text(), ...(await work(address))];
  const listening = processState([Order]);
  await app.close();
  return { listening, closed: processState([Order]), answers };
}

const before = await run([], () => []);
const { PlantsAuthModule, BearerAuthGuard, exemptPlantsFromBodyParser, PlantsModule } = await import(
  `${STORE}index.js`
);
const imported = processState([Order]);
if (spoiled !== undefined) Object.defineProperty(BigInt.prototype, 'toJSON', { value: String, configurable: true });

const store = PlantsModule.forRoot({
  database: { url },
  guards: [BearerAuthGuard],
  imports: [PlantsAuthModule.forRoot({ accessTokens: [token] })],
});
const after = await run(
  [store],
  async (address) => {
    const headers = { ...CLOSE, 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const body = '{"id": 9007199254740993, "name": "Rose"}';
    const send = () => fetch(`${address}/plants`, { method: 'POST', headers, body });
    const answers = [(await send()).status, (await send()).status];
    const database = new pg.Client(url);
    await database.connect();
    await database.query('ALTER TABLE plants RENAME TO removed');
    answers.push((await (await send()).json()).error);
    await database.query('ALTER TABLE removed RENAME TO plants');
    await database.end();
    return answers;
  },
  exemptPlantsFromBodyParser,
);

const report = {
  answers: after.answers,
  logged,
  imported: changes(before.closed, imported),
  listening: changes(before.listening, after.listening),
  closed: changes(before.closed, after.closed),
  readers: [...readers],
};
process.stdout.write(JSON.stringify(report));
