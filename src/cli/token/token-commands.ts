import type { Command, CommandGroup } from '../command.js';

const SCHEMA = { schema: { type: 'string' } } as const;

const CREATE: Command = {
  usage: `plant-store token create --name NAME [--expires WHEN] [--scope SCOPE ...] [--schema NAME]

Makes an access token and prints it, alone, to standard output. It is shown this once: only its digest is stored.

  --name NAME       1 to 100 letters, digits and ._@/:+-, not beginning with -, not digits alone, and not
                    static, jwt or other. One valid token has it at a time
  --expires WHEN    90d unless given. A time from now: 30s, 30m, 12h, 90d, 2w or 1y (365 days), 100y at most.
                    A date such as 2030-12-31, the end of which it is, or a date-time such as
                    2030-12-31T18:00Z; in UTC unless it says otherwise. Or: never
  --scope SCOPE     plants:create unless given; may be repeated
  --schema NAME     the PostgreSQL schema of the store, instead of the URL's`,
  options: {
    name: { type: 'string' },
    expires: { type: 'string' },
    scope: { type: 'string', multiple: true },
    ...SCHEMA,
  },
  load: async () => (await import('./create.command.js')).createToken,
};

const LIST: Command = {
  usage: `plant-store token list [--json] [--schema NAME]

Lists all access tokens, also those that have expired or were revoked; never the tokens themselves. Times are in UTC.

  --json           an array of objects: id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt, state
  --schema NAME    the PostgreSQL schema of the store, instead of the URL's`,
  options: { json: { type: 'boolean' }, ...SCHEMA },
  load: async () => (await import('./list.command.js')).listTokens,
};

const REVOKE: Command = {
  usage: `plant-store token revoke NAME|ID [--schema NAME]

Ends all valid access tokens of that name, or the one with that id, at once: running services refuse them within
2 seconds. That they have ended before is no failure; that there never were any is.

  --schema NAME    the PostgreSQL schema of the store, instead of the URL's`,
  options: SCHEMA,
  operands: ['NAME or ID'],
  load: async () => (await import('./revoke.command.js')).revokeTokens,
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
  load: async () => (await import('./rotate.command.js')).rotateToken,
};

export const TOKEN: CommandGroup = {
  usage: `plant-store token: access tokens, kept in the database (DATABASE_URL)

  plant-store token create --name NAME [--expires WHEN] [--scope SCOPE ...]
  plant-store token list [--json]
  plant-store token revoke NAME|ID
  plant-store token rotate NAME [--overlap TIME] [--expires WHEN]

  --help behind one of them tells more of it`,
  commands: { create: CREATE, list: LIST, revoke: REVOKE, rotate: ROTATE },
};
