import { withoutTokens } from '../auth/token-format.js';
import { ConfigurationError } from '../service/environment.js';
import { escapeControlsInLines } from '../util/text.js';
import { describeFailure } from './output.js';
import { call, type Command, UsageError } from './parser.js';

const describeEnvironment = async (): Promise<string> => (await import('./serve.js')).describeEnvironment();
const TEXT = { type: 'string' } as const;
const TEXTS = { ...TEXT, multiple: true } as const;
const FLAG = { type: 'boolean' } as const;

const serve: Command = {
  usage: `plant-store serve [--check]    run the service

  --check    only say all that the start would refuse or warn of, but for ports that are taken. It changes nothing, and starts
             no database. It exits with 0 if the service can start, with 78 if a fault stays, and with 1 if all may pass

It runs until SIGINT, SIGTERM or SIGHUP, and then answers the requests in flight. Configuration comes from environment
variables; plant-store serve --help lists them.`,
  appendix: describeEnvironment,
  options: { check: FLAG },
  load: () => Promise.resolve(serveOrCheck),
};

async function serveOrCheck({ check = false }: { check?: boolean }): Promise<void> {
  return check ? (await import('./check.js')).check() : (await import('./serve.js')).serve();
}

const migrate: Command = {
  usage: `plant-store migrate [--schema NAME]    bring the database (DATABASE_URL) to this version

  --schema NAME    the PostgreSQL schema to migrate, instead of the URL's

With MIGRATION_DATABASE_URL it works as that role, the owner of the tables, and grants the role of DATABASE_URL what the
service needs.

It may be run many times, and from many places at once. If it is interrupted, nothing of it is left. Creates wait behind it
for 2 seconds at most: if another session is in its way for longer, it exits with 1. Run it again then.`,
  options: { schema: TEXT },
  load: async () => (await import('./migrate.js')).migrate,
};

const openapi: Command = {
  usage: 'plant-store openapi    print the OpenAPI document that the service would serve',
  load: async () => (await import('./serve.js')).openapi,
};

const loadTokens = () => import('./token/token.commands.js');

/** A command that the usage of its group explains. */
function grouped(load: NonNullable<Command['load']>, options: Command['options'] = {}, ...operands: string[]): Command {
  return { options: { ...options, schema: TEXT }, operands, load };
}

const token: Command = {
  usage: `plant-store token: access tokens, kept in the database (DATABASE_URL)

  plant-store token create NAME [--expires WHEN] [--scope SCOPE ...]
      makes a token and prints it, alone, to standard output, this once: only its digest is stored
  plant-store token list [--json]
      all tokens, also ended ones, with when they end, but not what clients send
  plant-store token revoke NAME|ID
      ends all valid tokens of that name, or the one with that id: running services refuse them within 2 seconds
  plant-store token rotate NAME [--overlap TIME] [--expires WHEN]
      makes another of the same name and scopes, and prints it; the old one stays valid for the overlap

  NAME                   1 to 100 letters, digits and ._@/:+-, not beginning with -, not digits alone, and not static
                         or jwt; one valid token has it at a time. create also takes it as --name NAME
  --expires WHEN         a time from now: 30s, 30m, 12h, 90d, 2w or 1y (365 days), 100y at most; a date such as 2030-12-31,
                         valid to its end; a date-time such as 2030-12-31T18:00Z, in UTC unless it says otherwise;
                         or never. Unless given, 90d with create, and with rotate as long as the life of the old one
  --scope SCOPE          plants:create unless given, the only scope of the store; may be repeated. A scope of an
                         application that has the store in it needs a prefix of its own, as orders:read has
  --overlap TIME         1h unless given; such as 30m, 12h or 2d. With 0 the old one is revoked at once
  --json                 list: an array of objects: id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt, state;
                         others: as JSON the line on standard error that says who changed which tokens
  --schema NAME          the PostgreSQL schema of the store, instead of the URL's

All times are in UTC. To revoke what has already ended is no failure; a name or id that never existed is.`,
  commands: {
    create: grouped(
      async () => (await loadTokens()).createToken,
      { name: TEXT, expires: TEXT, scope: TEXTS, json: FLAG },
      '[NAME]',
    ),
    list: grouped(async () => (await loadTokens()).listTokens, { json: FLAG }),
    revoke: grouped(async () => (await loadTokens()).revokeTokens, { json: FLAG }, 'NAME or ID'),
    rotate: grouped(async () => (await loadTokens()).rotateToken, { overlap: TEXT, expires: TEXT, json: FLAG }, 'NAME'),
  },
};

const PLANT_STORE: Command = {
  usage: `plant-store: a service that stores plants

  plant-store serve      run the service
  plant-store migrate    bring the database (DATABASE_URL) to this version, in the PostgreSQL schema
                         of the URL, or: --schema NAME
  plant-store token      create, list, revoke and rotate access tokens
  plant-store openapi    print the OpenAPI document

  --help, --version      --help after a command explains it

Exits with 0, with 1 if the command failed, with 2 if it was called wrongly, or with 78 if the configuration
cannot be used, which no restart changes.
Configuration comes from environment variables; plant-store --help lists them.`,
  appendix: describeEnvironment,
  commands: { serve, migrate, token, openapi },
};

/** EX_CONFIG of sysexits.h: a service manager need not try again. */
const EX_CONFIG = 78;

/** Runs one command to its end. Returns the exit code: 0, 1 if the command failed, 2 if the command line is wrong, or EX_CONFIG. */
export async function runCommandLine(args: string[]): Promise<number> {
  try {
    await call(PLANT_STORE, args);
    return 0;
  } catch (error) {
    const misused = error instanceof UsageError;
    const text = misused ? `plant-store: ${error.message}\n\n${error.usage}` : describeFailure(error);
    // It may repeat arguments, or what the database says: no control character may reach a terminal, and no token a log.
    console.error(escapeControlsInLines(withoutTokens(text)));
    if (misused) return 2;
    return error instanceof ConfigurationError && !error.mayPass ? EX_CONFIG : 1;
  }
}
