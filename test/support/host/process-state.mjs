import { EventEmitter } from 'node:events';
import http from 'node:http';
import Module from 'node:module';
import net from 'node:net';
import { getMetadataStorage } from 'class-validator';
import express from 'express';
import passport from 'passport';
import pg from 'pg';

/** Nest puts a listener of every application's own there, so these count by their number. */
const EVENTS = new Set(['_events', '_eventsCount']);
const OIDS = [...Object.values(pg.types.builtins), 1000, 1016, 1182];

// Some globals are getters until they are first read.
for (const key of Object.getOwnPropertyNames(globalThis)) void globalThis[key];

/** What all code of a process shares, by dotted name: values as they are, objects and functions by what they are. */
export function processState(hostClasses) {
  const intrinsics = Object.getOwnPropertyNames(globalThis)
    .map((name) => [name, globalThis[name]])
    .filter(([, value]) => value !== globalThis && ['object', 'function'].includes(typeof value) && value !== null);
  const objects = {
    globalThis,
    ...Object.fromEntries(intrinsics),
    ...Object.fromEntries(
      intrinsics.flatMap(([name, { prototype }]) => (prototype ? [[`${name}.prototype`, prototype]] : [])),
    ),
    EventEmitter,
    'EventEmitter.prototype': EventEmitter.prototype,
    'http.IncomingMessage.prototype': http.IncomingMessage.prototype,
    'http.ServerResponse.prototype': http.ServerResponse.prototype,
    'http.Server.prototype': http.Server.prototype,
    'net.Socket.prototype': net.Socket.prototype,
    'Module._extensions': Module._extensions,
    'express.application': express.application,
    'express.request': express.request,
    'express.response': express.response,
    passport,
    'passport strategy': passport._strategies,
    'pg.defaults': pg.defaults,
    'pg.Client.prototype': pg.Client.prototype,
    'pg.Pool.prototype': pg.Pool.prototype,
    'environment variable': process.env,
    listeners: Object.fromEntries(process.eventNames().map((name) => [name, process.listenerCount(name)])),
    'pg text parser of type': Object.fromEntries(OIDS.map((oid) => [oid, pg.types.getTypeParser(oid, 'text')])),
    'pg binary parser of type': Object.fromEntries(OIDS.map((oid) => [oid, pg.types.getTypeParser(oid, 'binary')])),
    'validation of': Object.fromEntries(hostClasses.map((host) => [host.name, validationOf(host)])),
    folder: { current: process.cwd() },
  };
  return new Map(Object.entries(objects).flatMap(([name, object]) => membersOf(name, object)));
}

/** The names of what differs. */
export function changes(before, after) {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .sort();
}

function membersOf(name, object) {
  return Reflect.ownKeys(object)
    .filter((key) => !(name === 'process' && EVENTS.has(key)))
    .flatMap((key) => {
      const { value, get, set, ...flags } = Object.getOwnPropertyDescriptor(object, key);
      const member = [value, get, set].map(identityOf).join(' ');
      return [[`${name}.${String(key)}`, `${member} ${JSON.stringify(flags)}`]];
    });
}

const identities = new Map();

function identityOf(value) {
  if (!['object', 'function'].includes(typeof value) || value === null) return `${typeof value} ${String(value)}`;
  if (!identities.has(value)) identities.set(value, `the ${typeof value} number ${identities.size}`);
  return identities.get(value);
}

function validationOf(host) {
  return JSON.stringify(getMetadataStorage().getTargetValidationMetadatas(host, '', true, false));
}
