import { packageVersion } from '../util/package-files.cjs';
import type { Command, CommandGroup } from './parser.js';

const describeEnvironment = async (): Promise<string> => (await import('./serve.js')).describeEnvironment();
const SCHEMA = { schema: { type: 'string' } } as const;

const SERVE: Command = {
  usage: `plant-store serve    run the service

It runs until SIGINT or SIGTERM, and then answers the requests in flight. Configuration comes from environment
variables; plant-store serve --help lists them.`,
  appendix: describeEnvironment,
  load: async () => (await import('./serve.js')).serve,
};

const MIGRATE: Command = {
  usage: `plant-store migrate [--schema NAME]    bring the database (DATABASE_URL) to this version

  --schema NAME    the PostgreSQL schema to migrate, instead of the URL's

With MIGRATION_DATABASE_URL it works as that role, the owner of the tables, and grants the role of DATABASE_URL what the
service needs. It needs PostgreSQL itself, not a pooler in transaction mode.

It may be run many times, and from many places at once.`,
  options: SCHEMA,
  load: async () => (await import('./migrate.js')).migrate,
};

const OPENAPI: Command = {
  usage: 'plant-store openapi    print the OpenAPI document that the service would serve',
  load: async () => (await import('./openapi.js')).openapi,
};

const DOCTOR: Command = {
  usage: `plant-store doctor [--json]

Checks the configuration, the database, access tokens, ports, descriptors, files with secrets and TLS, and says what to
do about warnings and faults. It changes nothing. The exit code is 1 if there is a fault.

  --json    an array of objects: check, state (ok, warning or fault), found, advice`,
  options: { json: { type: 'boolean' } },
  load: async () => (await import('./doctor/doctor.js')).doctor,
};

const CREATE: Command = {
  usage: `plant-store token create NAME [--expires WHEN] [--scope SCOPE ...] [--schema NAME]

Makes an access token and prints it, alone, to standard output. It is shown this once: only its digest is stored.

  NAME              or --name NAME: 1 to 100 letters, digits and ._@/:+-, not beginning with -, not digits alone, and not
                    static, jwt or other. One valid token has it at a time
  --expires WHEN    90d unless given. A time from now: 30s, 30m, 12h, 90d, 2w or 1y (365 days), 100y at most.
                    A date such as 2030-12-31, the end of which it is, or a date-time such as
                    2030-12-31T18:00Z; in UTC unless it says otherwise. Or: never
  --scope SCOPE     plants:create unless given, the only scope of the store; may be repeated. A scope of an
                    application that has the store in it needs a prefix of its own, as orders:read has
  --schema NAME     the PostgreSQL schema of the store, instead of the URL's`,
  options: {
    name: { type: 'string' },
    expires: { type: 'string' },
    scope: { type: 'string', multiple: true },
    ...SCHEMA,
  },
  operands: ['[NAME]'],
  load: async () => (await import('./token/token.commands.js')).createToken,
};

const LIST: Command = {
  usage: `plant-store token list [--json] [--schema NAME]

Lists all access tokens, also those that have expired or were revoked; never the tokens themselves. Times are in UTC.
Warns, on standard error, of tokens that end within 14 days and were not rotated.

  --json           an array of objects: id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt, state
  --schema NAME    the PostgreSQL schema of the store, instead of the URL's`,
  options: { json: { type: 'boolean' }, ...SCHEMA },
  load: async () => (await import('./token/token.commands.js')).listTokens,
};

const REVOKE: Command = {
  usage: `plant-store token revoke NAME|ID [--schema NAME]

Ends all valid access tokens of that name, or the one with that id, at once: running services refuse them within
2 seconds. Tokens that have already ended are no failure; a name or id that never existed is.

  --schema NAME    the PostgreSQL schema of the store, instead of the URL's`,
  options: SCHEMA,
  operands: ['NAME or ID'],
  load: async () => (await import('./token/token.commands.js')).revokeTokens,
};

const ROTATE: Command = {
  usage: `plant-store token rotate NAME [--overlap TIME] [--expires WHEN] [--schema NAME]

Makes another access token of the same name and scopes, and prints it, alone, to standard output. The old one stays
valid for the overlap, so that it can be replaced where it is used.

  --overlap TIME    1h unless given; such as 30m, 12h or 2d. With 0 the old one is revoked at once
  --expires WHEN    as with create; unless given, as long from now as the life of the old one was
  --schema NAME     the PostgreSQL schema of the store, instead of the URL's`,
  options: { overlap: { type: 'string' }, expires: { type: 'string' }, ...SCHEMA },
  operands: ['NAME'],
  load: async () => (await import('./token/token.commands.js')).rotateToken,
};

const PRUNE: Command = {
  usage: `plant-store token prune [--ended-before TIME] [--schema NAME]

Removes the access tokens that expired, or were revoked, long ago, and prints which. A valid one is never removed.
Plants keep the name of their creator.

  --ended-before TIME    how long ago they ended at least: 90d unless given; such as 30m, 12h, 2w or 1y
  --schema NAME          the PostgreSQL schema of the store, instead of the URL's`,
  options: { 'ended-before': { type: 'string' }, ...SCHEMA },
  load: async () => (await import('./token/token.commands.js')).pruneTokens,
};

const TOKEN: CommandGroup = {
  usage: `plant-store token: access tokens, kept in the database (DATABASE_URL)

  plant-store token create NAME [--expires WHEN] [--scope SCOPE ...]
  plant-store token list [--json]
  plant-store token revoke NAME|ID
  plant-store token rotate NAME [--overlap TIME] [--expires WHEN]
  plant-store token prune [--ended-before TIME]

  --help after one of them explains it`,
  commands: { create: CREATE, list: LIST, revoke: REVOKE, rotate: ROTATE, prune: PRUNE },
};

const PLANTS_USAGE = `plant-store plants: reads the plants in the database (DATABASE_URL), as a role that may do no more

  plant-store plants list [--limit N] [--after ID] [--json]    some plants, in the order of their ids
  plant-store plants get ID                                    one plant; exits with 1 if there is none with that id
  plant-store plants count [--estimate]                        how many there are
  plant-store plants export [--after ID]                       all plants of this moment, a line of JSON for each

  --limit N        20 unless given, 10000 at most
  --after ID       only plants with a larger id
  --json           an array instead of a table, which shortens long texts
  --estimate       PostgreSQL's estimate, at once: to count takes about a second for ten million plants
  --schema NAME    the PostgreSQL schema of the store, instead of the URL's

In JSON a plant has id, name, tag, createdAt and createdBy, without what it lacks. The id is exact: read it as an
integer of 64 bits. An export says on standard error, where that is a terminal, how far it is.`;
const loadPlants = (): Promise<typeof import('./plants/plants.commands.js')> => import('./plants/plants.commands.js');
const TEXT = { type: 'string' } as const;

const PLANTS: CommandGroup = {
  usage: PLANTS_USAGE,
  commands: {
    list: {
      usage: PLANTS_USAGE,
      options: { limit: TEXT, after: TEXT, json: { type: 'boolean' }, ...SCHEMA },
      load: async () => (await loadPlants()).listPlants,
    },
    get: { usage: PLANTS_USAGE, options: SCHEMA, operands: ['ID'], load: async () => (await loadPlants()).getPlant },
    count: {
      usage: PLANTS_USAGE,
      options: { estimate: { type: 'boolean' }, ...SCHEMA },
      load: async () => (await loadPlants()).countPlants,
    },
    export: {
      usage: PLANTS_USAGE,
      options: { after: TEXT, ...SCHEMA },
      load: async () => (await loadPlants()).exportPlants,
    },
  },
};

export const PLANT_STORE: CommandGroup = {
  usage: `plant-store: a service that stores plants

  plant-store serve      run the service
  plant-store migrate    bring the database (DATABASE_URL) to this version, in the PostgreSQL schema
                         of the URL, or: --schema NAME
  plant-store token      create, list, revoke, rotate and prune access tokens
  plant-store plants     list, get, count and export the plants
  plant-store openapi    print the OpenAPI document
  plant-store doctor     check configuration, database, tokens and machine, and say what to do

  --help, --version      --help after a command explains it

Exits with 0, with 1 if the command failed, or with 2 if it was called wrongly.
Configuration comes from environment variables; plant-store --help lists them.`,
  appendix: describeEnvironment,
  commands: { serve: SERVE, migrate: MIGRATE, token: TOKEN, plants: PLANTS, openapi: OPENAPI, doctor: DOCTOR },
  version: packageVersion,
};
