import type pg from 'pg';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import type { TokenRecord } from '../../auth/tokens/token-record.js';
import type { DatabaseUrl } from '../../database/database-url.js';
import { sqlStateOf } from '../../database/database.errors.js';
import type { Query } from '../../database/database.js';
import { sharesSessions, withConnection } from '../../database/migrations/connection.js';
import { assertTables } from '../../database/migrations/migration-status.js';
import { readMigrations } from '../../database/migrations/schema-engine.js';
import { findMissingRights, PLANTS_RIGHTS, type Rights } from '../../database/rights.js';
import { DAY_MS } from '../../util/options.js';
import { MIGRATIONS_FOLDER } from '../../util/package-files.cjs';
import { reasonOf } from '../../util/text.js';
import { utc } from '../token/token-output.js';

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly found: string;
  /** What to do; empty if it is ok. */
  readonly advice: string;
}

/** @param wrong how bad it is, and what to do; nothing if it is ok */
export function finding(check: string, found: string, wrong?: readonly ['warning' | 'fault', string] | false): Finding {
  const [state, advice] = wrong === undefined || wrong === false ? (['ok', ''] as const) : wrong;
  return { check, state, found, advice };
}

/** For each statement, and for all of them: a server may stop answering at any time. */
const STATEMENT_TIMEOUT_MS = 5000;
const TIMEOUT_MS = 20_000;
/** In November 2026: those before get no security updates. */
const OLDEST_MAINTAINED = 15;
const MAX_CLOCK_DIFFERENCE_MS = 2000;
const SOON_MS = 14 * DAY_MS;
/** Of the service and `plant-store token`. DELETE is no right on columns, and is needed to remove old tokens only. */
const TOKEN_RIGHTS: Rights = { access_tokens: ['SELECT', 'INSERT', 'UPDATE'] };

/** Not every engine that speaks the protocol of PostgreSQL has every setting. */
const SERVER = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
  pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  current_setting('synchronous_commit', true) AS "synchronousCommit", current_setting('fsync', true) AS fsync,
  current_setting('full_page_writes', true) AS "fullPageWrites",
  current_setting('max_connections')::int - COALESCE(current_setting('superuser_reserved_connections', true)::int, 0)
    - COALESCE(current_setting('reserved_connections', true)::int, 0) AS room,
  EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now`;

interface Server {
  readonly version: string;
  readonly major: number;
  readonly isReadOnly: boolean;
  readonly synchronousCommit: string | null;
  readonly fsync: string | null;
  readonly fullPageWrites: string | null;
  /** Connections for roles that are no superusers. */
  readonly room: number;
  readonly now: number;
}

/** How the service uses the database. */
export interface DatabaseUse {
  readonly database: DatabaseUrl;
  /** Connections of one service. */
  readonly connections: number;
  /** Tokens that are not in the database; empty if there are none. */
  readonly otherTokens: string;
}

/** What is found in the database. Changes nothing, and ends within 30 seconds. */
export async function checkDatabase(use: DatabaseUse): Promise<Finding[]> {
  const { database } = use;
  const { schema, description, isPooled } = database;
  const place = `schema ${schema} of database ${description}`;
  const limits = { timeout: STATEMENT_TIMEOUT_MS, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const findings: Finding[] = [];
  let check = 'database';
  const work = async (client: pg.Client): Promise<void> => {
    const query: Query = async <Row>(sql: string, values?: unknown[]) =>
      (await client.query(sql, values)).rows as Row[];
    const sent = Date.now();
    const [server] = await query<Server>(SERVER);
    if (server) findings.push(...checkServer(server, use, [sent, Date.now()]));
    const shares = !isPooled && (await sharesSessions(database, client, limits).catch(() => false));
    const pooler = isPooled || shares ? 'each transaction may get another session' : 'none that shares sessions';
    findings.push(finding('pooler', pooler, shares && ['fault', 'Add pgbouncer=true to DATABASE_URL.']));
    check = 'migrations';
    await assertTables(query, { schema, place }, await readMigrations(MIGRATIONS_FOLDER));
    findings.push(finding(check, `${place} has those of this version`));
    check = 'rights';
    const vital = await findMissingRights(query, schema, PLANTS_RIGHTS);
    const missing = vital ?? (await findMissingRights(query, schema, TOKEN_RIGHTS));
    const wrong = [vital ? 'fault' : 'warning', 'Grant them, or call plant-store migrate as the owner.'] as const;
    findings.push(finding(check, missing ?? 'all that are needed', missing !== undefined && wrong));
    check = 'tokens';
    findings.push(checkTokens(await new TokenAdministration(client, schema).list(), use.otherTokens));
  };
  try {
    await withConnection(database, work, limits);
  } catch (error) {
    findings.push(finding(check, reasonOf(error), ['fault', adviceFor(sqlStateOf(error), check)]));
  }
  return findings;
}

function adviceFor(sqlState: string | undefined, check: string): string {
  if (sqlState === '42501') return 'Grant what is missing, or call plant-store migrate as the owner.';
  if (check !== 'database') return 'Do what it says, and call plant-store doctor again.';
  if (sqlState === '3D000') return 'Create the database, or correct its name in DATABASE_URL.';
  if (sqlState?.startsWith('28'))
    return 'Correct the user in DATABASE_URL, or the password there or in DATABASE_PASSWORD.';
  return 'Start PostgreSQL, or correct host and port in DATABASE_URL.';
}

/** @param times when the answer was asked for, and when it came */
export function checkServer(server: Server, use: DatabaseUse, [sent, answered]: readonly [number, number]): Finding[] {
  const { version, major, isReadOnly, synchronousCommit, fsync, fullPageWrites, room, now } = server;
  const { database, connections } = use;
  // Each create sets it for itself where it is less.
  const commit = ['on', 'remote_apply'].includes(String(synchronousCommit)) ? '' : ', but on for each create';
  const error = Math.ceil((answered - sent) / 2);
  const ahead = Math.round(now - (sent + answered) / 2);
  const clock = `${Math.abs(ahead)} ms ${ahead < 0 ? 'behind' : 'ahead of'} this machine, give or take ${error} ms`;
  const clocksDiffer = Math.abs(ahead) - error > MAX_CLOCK_DIFFERENCE_MS;
  const isFull = !database.isPooled && room < connections;
  return [
    finding('database', `${database.description} answers`),
    finding(
      'version',
      `PostgreSQL ${version}`,
      major < OLDEST_MAINTAINED && [
        'warning',
        `It gets no security updates: upgrade to ${OLDEST_MAINTAINED} or later.`,
      ],
    ),
    finding(
      'writable',
      isReadOnly ? 'no: a standby, or read-only' : 'yes',
      isReadOnly && ['fault', 'Let DATABASE_URL lead to the primary.'],
    ),
    finding('synchronous_commit', `${String(synchronousCommit)}${commit}`),
    finding(
      'fsync',
      String(fsync),
      fsync === 'off' && ['fault', 'A crash of the machine may lose plants, or the whole database: set fsync = on.'],
    ),
    finding(
      'full_page_writes',
      String(fullPageWrites),
      fullPageWrites === 'off' && [
        'warning',
        'A crash may damage the database: set it on, unless the file system never writes half a page.',
      ],
    ),
    finding(
      'connections',
      `${connections} for each service, ${room} on the server`,
      isFull && ['fault', 'Raise max_connections, or lower DATABASE_POOL_SIZE.'],
    ),
    finding('clock', clock, clocksDiffer && ['warning', 'Set both clocks by NTP: tokens end by them.']),
  ];
}

export function checkTokens(tokens: readonly TokenRecord[], otherTokens: string): Finding {
  const valid = tokens.filter(({ state, scopes }) => state === 'valid' && scopes.includes(CREATE_PLANTS));
  // After a rotation there are several of a name, of which one lasts.
  const ends = new Map<string, number>();
  for (const { name, expiresAt } of valid) {
    ends.set(name, Math.max(ends.get(name) ?? 0, expiresAt?.getTime() ?? Infinity));
  }
  const soon = [...ends].filter(([, end]) => end < Date.now() + SOON_MS);
  const endings = soon.map(([name, end]) => `; ${name} ends at ${utc(new Date(end))}`);
  const found = `${valid.length} issued ones may create plants${otherTokens && `, and ${otherTokens}`}${endings.join('')}`;
  if (valid.length === 0 && otherTokens === '') {
    return finding('tokens', found, ['fault', 'Create one: plant-store token create NAME.']);
  }
  return finding('tokens', found, soon.length > 0 && ['warning', 'Replace them: plant-store token rotate NAME.']);
}
