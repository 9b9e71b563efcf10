import type { Command } from './command.js';

export const SERVE: Command = {
  usage: `plant-store serve    run the service

It runs until SIGINT or SIGTERM, and then answers the requests in flight. Configuration comes from environment
variables; the README lists them.`,
  load: async () => (await import('./serve.command.js')).serve,
};

export const MIGRATE: Command = {
  usage: `plant-store migrate [--schema NAME]    bring the database (DATABASE_URL) to this version

  --schema NAME    the PostgreSQL schema to migrate, instead of the URL's

It may be run many times, and from many places at once.`,
  options: { schema: { type: 'string' } },
  load: async () => (await import('./migrate.command.js')).migrate,
};

export const OPENAPI: Command = {
  usage: 'plant-store openapi    print the OpenAPI document that the service would serve',
  load: async () => (await import('./openapi.command.js')).openapi,
};
