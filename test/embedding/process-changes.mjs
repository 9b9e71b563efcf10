import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import '@nestjs/swagger';
import { getMetadataStorage } from 'class-validator';
import { EventEmitter } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import express from 'express';
import passport from 'passport';
import pg from 'pg';

// Runs an application without the store and then one with it, and prints what all code of the process shares and is not as before. Then the
// process has to end by itself.
const [url, token, spoiled] = process.argv.slice(2);
const OIDS = [...Object.values(pg.types.builtins), 1000, 1016, 1182];

function processState() {
  const globals = Object.getOwnPropertyNames(globalThis).map((name) => [name, globalThis[name]]);
  const classes = [...globals, ...Object.entries({ EventEmitter, ...http, ...net, ...pg })];
  const prototypes = classes.flatMap(([name, value]) =>
    value?.prototype ? [[`${name}.prototype`, value.prototype]] : [],
  );
  const { request, response, application } = express;
  const libraries = { globalThis, express, request, response, application, passport, strategies: passport._strategies };
  // Nest puts a listener of each application there, so these count by their number.
  const ofProcess = Object.fromEntries(Object.entries(process).filter(([name]) => !name.startsWith('_events')));
  const listeners = Object.fromEntries(process.eventNames().map((name) => [name, process.listenerCount(name)]));
  const parsers = OIDS.map((oid) => [oid, pg.types.getTypeParser(oid, 'text')]);
  const others = {
    ofProcess,
    listeners,
    env: process.env,
    defaults: pg.defaults,
    parsers: Object.fromEntries(parsers),
  };
  const objects = [...Object.entries({ ...libraries, ...others }), ...prototypes];
  return new Map(objects.flatMap(([name, object]) => membersOf(name, object)));
}

/** Each property of an object, by what its value or its accessors are. */
function membersOf(name, object) {
  return Reflect.ownKeys(object).map((key) => {
    const { value, get, set } = Object.getOwnPropertyDescriptor(object, key);
    return [`${name}.${String(key)}`, get ?? set ?? value];
  });
}

async function run(imports, prepare = () => undefined) {
  class HostModule {}
  Module({ imports })(HostModule);
  const app = await NestFactory.create(HostModule, { logger: false });
  prepare(app);
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const address = `http://127.0.0.1:${app.getHttpServer().address().port}/plants`;
  // A connection that stays open would hold up the end.
  const headers = { Connection: 'close', 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
  const post = async () =>
    (await fetch(address, { method: 'POST', headers, body: '{"id": 1, "name": "Rose"}' })).status;
  const answers = [await post(), await post()];
  const listening = processState();
  await app.close();
  return { answers, listening, closed: processState() };
}

// The host validates too, and this makes its storage.
getMetadataStorage();
const before = await run([]);
const store = await import('../../dist/index.js');
if (spoiled !== undefined) Object.defineProperty(BigInt.prototype, 'toJSON', { value: String, configurable: true });
const auth = store.PlantsAuthModule.forRoot({ accessTokens: [token] });
const options = { database: { url }, guards: [store.BearerAuthGuard], imports: [auth] };
const after = await run([store.PlantsModule.forRoot(options)], store.exemptPlantsFromBodyParser);

const changes = (one, other) =>
  [...new Set([...one.keys(), ...other.keys()])].filter((name) => !Object.is(one.get(name), other.get(name))).sort();
const changed = [changes(before.listening, after.listening), changes(before.closed, after.closed)];
process.stdout.write(JSON.stringify([...before.answers, ...after.answers, ...changed]));
