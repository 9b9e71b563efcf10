import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import { type TokenRecord, utc } from '../../auth/tokens/token-record.js';
import type { DatabaseUrl } from '../../database/database-url.js';
import { MISSING_RIGHT, sqlStateOf } from '../../database/database.errors.js';
import { DURABLE_COMMITS } from '../../database/database.options.js';
import { sharesSessions } from '../../database/migrations/connection.js';
import { assertMigrated } from '../../database/migrations/migration-status.js';
import { findMissingRights, PLANTS_RIGHTS, type Rights } from '../../database/rights.js';
import { findCreators, findForeignObjects, findUnlogged } from '../../database/table-checks.js';
import { connectionAdvice, type DatabaseAddress, type OpenDatabase, withDatabase } from '../database.js';
import { operatorReason } from '../output.js';
import { endingSoon } from '../token/token-output.js';

/** The result of one check. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly found: string;
  /** What to do; empty if it is ok. */
  readonly advice: string;
}

type Trouble = readonly [state: 'warning' | 'fault', advice: string];

/** In November 2026: those before get no security updates. */
const OLDEST_MAINTAINED = 15;
export const AS_IT_SAYS: Trouble = ['fault', 'Do what it says, and call plant-store doctor again.'];

/** How bad it is, and what to do, if one of these checks fails. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  variables: ['warning', 'Correct or remove this variable.'],
  descriptors: ['warning', 'Raise ulimit -n, or lower MAX_CONNECTIONS.'],
  'secret files': ['warning', 'chmod 600, or 640 if a group of its own has to read them.'],
  'TLS of clients': [
    'warning',
    'Put a proxy that speaks TLS in front, and set TRUST_PROXY. If others cannot connect, set HOST=127.0.0.1 or, in a container, TRUST_PROXY=0.',
  ],
  'TLS of the database': ['warning', 'It is another machine: add sslmode=verify-full to DATABASE_URL.'],
  'database URL': ['warning', 'Change DATABASE_URL as it says.'],
  version: ['warning', `It gets no security updates: upgrade to ${OLDEST_MAINTAINED} or later.`],
  writable: ['fault', 'Let DATABASE_URL lead to the primary, or reset default_transaction_read_only (\\drds in psql).'],
  fsync: ['fault', 'A crash of the machine may lose plants, or the whole database: set fsync = on.'],
  full_page_writes: ['warning', 'Set it on, unless the file system never writes half a page: a crash may damage data.'],
  connections: ['fault', 'Raise max_connections, or lower DATABASE_POOL_SIZE.'],
  clock: ['warning', 'Set both clocks by NTP: tokens end by them.'],
  pooler: ['fault', 'Add pgbouncer=true to DATABASE_URL.'],
};

export function finding(check: string, found: string, isWrong = false, trouble = TROUBLES[check]): Finding {
  const [state, advice] = isWrong ? (trouble ?? AS_IT_SAYS) : (['ok', ''] as const);
  return { check, state, found, advice };
}

/** For each statement, and for all of them: a server may stop answering at any time. */
const STATEMENT_TIMEOUT_MS = 5000;
const TIMEOUT_MS = 20_000;
const MAX_CLOCK_DIFFERENCE_MS = 2000;

/** Not every engine with the protocol of PostgreSQL has every setting. */
const SERVER = `SELECT pg_catalog.current_setting('server_version') AS version, pg_catalog.current_setting('server_version_num')::int / 10000 AS major,
  pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  pg_catalog.current_setting('synchronous_commit', true) AS "synchronousCommit", pg_catalog.current_setting('fsync', true) AS fsync,
  pg_catalog.current_setting('full_page_writes', true) AS "fullPageWrites",
  pg_catalog.current_setting('max_connections')::int - COALESCE(pg_catalog.current_setting('superuser_reserved_connections', true)::int, 0)
    - COALESCE(pg_catalog.current_setting('reserved_connections', true)::int, 0) AS room,
  EXTRACT(EPOCH FROM pg_catalog.clock_timestamp())::float8 * 1000::float8 AS now`;

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
  /** Connections of one service. */
  readonly connections: number;
  /** Tokens that are not in the database; empty if there are none. */
  readonly otherTokens: string;
  /** Other roles that may own tables. */
  readonly trustOwners: string[];
}

/** What is found in the database. Changes nothing, and ends within 30 seconds. */
export async function checkDatabase(address: DatabaseAddress, use: DatabaseUse): Promise<Finding[]> {
  const limits = { timeout: STATEMENT_TIMEOUT_MS, signal: AbortSignal.timeout(TIMEOUT_MS) };
  const findings: Finding[] = [];
  let check = 'database';
  const work = async ({ client, query, database }: OpenDatabase): Promise<void> => {
    const { schema, isPooled } = database;
    const sent = Date.now();
    const [server] = await query<Server>(SERVER);
    if (server) findings.push(...checkServer(server, database, use.connections, [sent, Date.now()]));
    const shares = !isPooled && (await sharesSessions(database, client, limits).catch(() => false));
    const pooler = isPooled || shares ? 'each transaction may get another session' : 'none that shares sessions';
    findings.push(finding('pooler', pooler, shares));
    check = 'owners';
    const foreign = await findForeignObjects(query, schema, use.trustOwners);
    findings.push(
      finding(check, foreign ?? 'all can be trusted', !!foreign, [
        'warning',
        'Or trust the role: --trust-owner ROLE, with doctor as with migrate.',
      ]),
    );
    const creators = await findCreators(query, schema);
    const others = `${creators ? '' : 'no '}other roles may create in it`;
    findings.push(finding('schema', others, !!creators, ['warning', `Run ${String(creators)}.`]));
    const unlogged = await findUnlogged(query, schema);
    findings.push(finding('crash safety', unlogged ?? 'no table is UNLOGGED', !!unlogged));
    check = 'rights';
    const missing = await findMissingRights(query, schema, { ...NEEDED_RIGHTS, ...TOKEN_RIGHTS });
    const isVital = missing !== undefined && (await findMissingRights(query, schema, NEEDED_RIGHTS)) !== undefined;
    const trouble: Trouble = [isVital ? 'fault' : 'warning', GRANT];
    const rights = finding(check, missing ?? 'all that are needed', missing !== undefined, trouble);
    // Without it neither these nor the tokens can be read.
    if ((await findMissingRights(query, schema, HISTORY_RIGHTS)) !== undefined) {
      findings.push(finding('migrations', 'not checked', true, ['warning', AFTER_GRANT]), rights);
      return;
    }
    check = 'migrations';
    await assertMigrated(query, database);
    findings.push(finding(check, `${database.place} has those of this version`), rights);
    check = 'tokens';
    findings.push(checkTokens(await new TokenAdministration(client, schema).list(), use.otherTokens));
  };
  try {
    await withDatabase({ ...address, ...limits }, work);
  } catch (error) {
    findings.push(finding(check, operatorReason(error), true, troubleOf(check, sqlStateOf(error))));
  }
  return findings;
}

const HISTORY_RIGHTS: Rights = { _prisma_migrations: ['SELECT'] };
const NEEDED_RIGHTS: Rights = { ...HISTORY_RIGHTS, ...PLANTS_RIGHTS };
// DELETE is no right on columns, and is needed to remove old tokens only.
const TOKEN_RIGHTS: Rights = { access_tokens: ['SELECT', 'INSERT', 'UPDATE'] };
const AFTER_GRANT = 'Grant the missing rights, and call plant-store doctor again.';
const GRANT =
  'Run plant-store migrate as the owner (MIGRATION_DATABASE_URL), which grants all of them, or grant them by hand.';

function troubleOf(check: string, sqlState = ''): Trouble {
  if (sqlState === MISSING_RIGHT) return ['fault', GRANT];
  if (check !== 'database') return AS_IT_SAYS;
  return ['fault', connectionAdvice(sqlState)];
}

/** @param times when the answer was asked for, and when it came */
export function checkServer(
  { version, major, isReadOnly, synchronousCommit, fsync, fullPageWrites, room, now }: Server,
  { description, isPooled }: DatabaseUrl,
  connections: number,
  [sent, answered]: readonly [number, number],
): Finding[] {
  // Each create sets it for itself if it is less.
  const commit = DURABLE_COMMITS.includes(String(synchronousCommit)) ? '' : ', but on for creates without Citus';
  const error = Math.ceil((answered - sent) / 2);
  const ahead = Math.round(now - (sent + answered) / 2);
  const clock = `${Math.abs(ahead)} ms ${ahead < 0 ? 'behind' : 'ahead of'} this machine, give or take ${error} ms`;
  return [
    finding('database', `${description} answers`),
    finding('version', `PostgreSQL ${version}`, major < OLDEST_MAINTAINED),
    finding('writable', isReadOnly ? 'no: a standby, or read-only' : 'yes', isReadOnly),
    finding('synchronous_commit', `${String(synchronousCommit)}${commit}`),
    finding('fsync', String(fsync), fsync === 'off'),
    finding('full_page_writes', String(fullPageWrites), fullPageWrites === 'off'),
    finding('connections', `${connections} for each service, ${room} on the server`, !isPooled && room < connections),
    finding('clock', clock, Math.abs(ahead) - error > MAX_CLOCK_DIFFERENCE_MS),
  ];
}

function checkTokens(tokens: readonly TokenRecord[], otherTokens: string): Finding {
  const valid = tokens.filter(({ state, scopes }) => state === 'valid' && scopes.includes(CREATE_PLANTS));
  const soon = endingSoon(valid);
  const endings = soon.map(({ name, expiresAt }) => `; ${name} ends at ${utc(expiresAt)}`).join('');
  const found = `${valid.length} issued ones may create plants${otherTokens && `, and ${otherTokens}`}${endings}`;
  return valid.length === 0 && otherTokens === ''
    ? finding('tokens', found, true, ['fault', 'Create one: plant-store token create NAME.'])
    : finding('tokens', found, soon.length > 0, ['warning', 'Replace them: plant-store token rotate NAME.']);
}
