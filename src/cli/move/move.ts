import pg from 'pg';
import { loadEnvironment } from '../../app/config.js';
import { parseDatabaseUrl } from '../../database/database-url.js';
import { acquireMigrationLock } from '../../database/migrations/connection.js';
import { MOVE_MARKER } from '../../database/migrations/migration-status.js';
import { Migrator } from '../../database/migrations/migrator.js';
import { assertOwners } from '../../database/table-checks.js';
import { failureOf } from '../../util/text.js';
import { type OpenDatabase, withDatabase } from '../database.js';
import { LOCAL_DIRECTORY, markAsMoved, movedTo, openLocalDatabase } from '../local-database.js';
import { endBySignal, OutputError, print, progress } from '../output.js';
import { UsageError } from '../parser.js';
import { nameOf, TableCopy } from './table-copy.js';

const LOCK_TIMEOUT_MS = 10_000;
/** What changes in a token, such as its last use, may have changed since an earlier try. One that was ended in the target stays so. */
const MAY_UPDATE_TOKEN = `access_tokens.digest = EXCLUDED.digest AND access_tokens.revoked_at IS NULL
  AND COALESCE(access_tokens.expires_at, 'infinity') >= COALESCE(EXCLUDED.expires_at, 'infinity')`;

type Options = Readonly<{ to?: string; 'trust-owner'?: string[] }>;

/**
 * `plant-store move`: copies all that is in the embedded database into another one, and marks the folder as moved. Nothing of the folder is
 * deleted. It may be interrupted at any time and run again: until the folder is marked, its data are the ones that count.
 */
export async function move({ to, 'trust-owner': trustOwners }: Options): Promise<void> {
  const { databasePassword: password } = loadEnvironment(process.env);
  if (to === undefined) throw new UsageError('--to is missing, should be the URL of the new PostgreSQL database');
  const fault = failureOf(() => parseDatabaseUrl(to, password));
  if (fault !== undefined) throw new UsageError(`--to ${fault}`);
  const moved = await movedTo();
  if (moved !== undefined) {
    const found = `The data of ${LOCAL_DIRECTORY} were moved already, to ${moved}`;
    if (moved !== parseDatabaseUrl(to, password).place) throw new OutputError(found);
    // The end of that move may have been interrupted here.
    await withDatabase({ url: to, password }, forgetMove);
    await print(found);
    return;
  }
  const source = await openLocalDatabase();
  endBySignal(() => source.stop());
  const from = { url: source.url, timeout: 0 };
  const address = { url: to, password, timeout: 0 };
  try {
    // No other cluster of PostgreSQL has this number.
    const [cluster] = await withDatabase(from, ({ query }) =>
      query<{ id: string }>('SELECT system_identifier::text AS id FROM pg_catalog.pg_control_system()'),
    );
    const id = String(cluster?.id);
    // Before anything of the target is changed.
    await withDatabase(address, (target) => inspect(target, id, trustOwners));
    await new Migrator({ url: to, password, trustOwners }).migrate();
    await withDatabase(from, (opened) => withDatabase(address, (target) => moveAll(opened, target, id, trustOwners)));
  } finally {
    await source.stop();
  }
}

/** @throws OutputError unless the target is empty, or has what an earlier move of this folder has copied */
async function inspect(target: OpenDatabase, id: string, trustOwners?: string[]): Promise<void> {
  const { query, database } = target;
  const has = async (table: string, condition: string): Promise<boolean> => {
    const name = nameOf(target, table);
    // Not a view, which runs functions of the role that made it.
    const tables = `SELECT FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1::text)::oid AND relkind IN ('r', 'p')`;
    if ((await query(tables, [name])).length === 0) return false;
    return (await query(`SELECT FROM ${name} WHERE ${condition} LIMIT 1`)).length > 0;
  };
  // Their policies would run as this role.
  await assertOwners(query, database, trustOwners ?? []);
  const [server] = await query<{ encoding: string }>(
    `SELECT pg_catalog.current_setting('server_encoding') AS encoding`,
  );
  if (server?.encoding !== 'UTF8')
    throw new OutputError(
      `${database.place} has the encoding ${server?.encoding}, should have UTF8: only that holds every character of a plant. ` +
        "Make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
    );
  if (await has(MOVE_MARKER, `source::text OPERATOR(pg_catalog.=) ${pg.escapeLiteral(id)}::text`)) return;
  const full = (await has('plants', 'true')) ? 'plants' : (await has('access_tokens', 'true')) ? 'access tokens' : '';
  if (full !== '' || (await has(MOVE_MARKER, 'true')))
    throw new OutputError(
      `${database.place} has ${full === '' ? 'an unfinished move of another folder' : `${full} of its own`}, should be empty. ` +
        'Give another database, or a schema of its own by ?schema=NAME at the end of the URL',
    );
}

async function moveAll(source: OpenDatabase, target: OpenDatabase, id: string, trustOwners?: string[]): Promise<void> {
  for (const { query, database } of [source, target]) {
    // Names mean those of the schema and of pg_catalog from here on, and a second move waits.
    await acquireMigrationLock(query, database.schema, LOCK_TIMEOUT_MS, 'SESSION');
    // Rows are compared as text. What is reported as moved is on the disk, whatever the default of the role.
    await query(`SET timezone = 'UTC'; SET bytea_output = 'hex'; SET synchronous_commit = 'on'`);
  }
  // Commands may be connected to the server of the folder too: what they change now would be missing.
  await source.query(`SET idle_in_transaction_session_timeout = 0; BEGIN;
    LOCK TABLE ${nameOf(source, 'plants')}, ${nameOf(source, 'access_tokens')} IN SHARE MODE`);
  await inspect(target, id, trustOwners);
  const marker = nameOf(target, MOVE_MARKER);
  await target.query(`CREATE TABLE IF NOT EXISTS ${marker} AS SELECT ${pg.escapeLiteral(id)}::text AS source`);
  const { plants, tokens } = await copyAll(source, target).catch((error: unknown) => {
    if (!(error instanceof OutputError))
      console.error(`The move is not finished, and ${LOCAL_DIRECTORY} is as it was. The same command goes on`);
    throw error;
  });
  await markAsMoved(target.database.place);
  await forgetMove(target);
  await print(
    `${plants.count} plants and ${tokens.count} access tokens are now in ${target.database.place}, compared row by row ` +
      `(SHA-256 of all plants: ${plants.digest}).\nSet DATABASE_URL to that database. ${LOCAL_DIRECTORY} keeps its copy; ` +
      'remove it when you have a backup.',
  );
}

async function forgetMove(target: OpenDatabase): Promise<void> {
  await target.query(`DROP TABLE IF EXISTS ${nameOf(target, MOVE_MARKER)}`);
}

type Compared = Awaited<ReturnType<TableCopy['compare']>>;

async function copyAll(from: OpenDatabase, into: OpenDatabase): Promise<{ plants: Compared; tokens: Compared }> {
  const plants = await TableCopy.of(from, into, 'plants');
  const tokens = await TableCopy.of(from, into, 'access_tokens', MAY_UPDATE_TOKEN);
  const run = async <T>(label: string, work: (onProgress: (rows: number) => void) => Promise<T>): Promise<T> => {
    const show = progress(label);
    let rows = 0;
    return work((count) => {
      show((rows = count));
    }).finally(() => {
      show(rows, true);
    });
  };
  await run('Copying: ', (onProgress) => plants.copy(onProgress));
  await tokens.copy(() => undefined);
  const result = {
    plants: await run('Comparing: ', (onProgress) => plants.compare(onProgress)),
    tokens: await tokens.compare(() => undefined),
  };
  const sequence = 'access_tokens_id_seq';
  const [state] = await from.query<{ value: string; used: boolean }>(
    `SELECT last_value::text AS value, is_called AS used FROM ${nameOf(from, sequence)}`,
  );
  const set = 'SELECT pg_catalog.setval($1::regclass, $2::int8, $3::bool)';
  await into.query(set, [nameOf(into, sequence), state?.value ?? '1', String(state?.used ?? false)]);
  return result;
}
