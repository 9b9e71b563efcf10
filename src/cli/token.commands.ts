import { type Command, InvalidArgumentError, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import { CREATE_PLANTS } from '../auth/scopes.js';
import { SCOPE, tokenNameFault } from '../auth/token-format.js';
import { type TokenRecord, TokensRepository } from '../auth/tokens.repository.js';
import { assertNoFaults, ConfigurationError, readConfiguration } from '../config/configuration.js';
import { STATEMENT_TIMEOUT_MS, withConnection } from '../database/connection.js';
import { parseDatabaseUrl, schemaFault } from '../database/database-url.js';
import { UrlPool } from '../database/store-pool.js';
import { assertMigrated } from '../database/table-checks.js';
import { LOCAL_URL_FILE } from '../embedded-postgres/embedded-postgres.js';
import { escapeControls } from '../util/text.js';
import { printError } from './exit-code.js';

const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE'];

interface Options {
  readonly schema?: string;
  readonly scope?: readonly string[];
  readonly expires: string;
}

export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .description('access tokens, kept in the database (DATABASE_URL)')
    .addHelpText('after', '\nTo rotate: create one more of the name, hand it over, and revoke the old one by its id.');
  token
    .command('create')
    .description('make a token and print it, alone, to standard output, this once: only its digest is stored')
    .argument('<name>', '1 to 100 letters, digits and ._@/:+-; a label that several tokens may have', (name) =>
      assertUsable(name, 'A name', tokenNameFault(name)),
    )
    .option('--scope <scope>', `${CREATE_PLANTS} if not given; may be repeated, for scopes of a host`, collectScopes)
    .option('--expires <time>', 'how long it is valid: 30m, 12h, 90d, 1y or never', parseExpiry, '90d')
    .addOption(schemaOption())
    .action(createToken);
  token
    .command('list')
    .description('list all tokens, also ended ones, but not what clients send')
    .addOption(schemaOption())
    .action(async ({ schema }: Options) => {
      print(await withTokens(schema, (tokens) => tokens.list()));
    });
  token
    .command('revoke')
    .description('end all valid tokens of a name, or one by its id: running services refuse them within 2 seconds')
    .argument('<name|id>', 'the name or the id of the token')
    .addOption(schemaOption())
    .action(async (nameOrId: string, { schema }: Options) => {
      print(await withTokens(schema, (tokens) => tokens.revoke(nameOrId)));
    });
}

/** A host may use another schema for its own tables than for the store. */
export function schemaOption(): Option {
  const option = new Option('--schema <name>', "the PostgreSQL schema of the store, instead of the URL's");
  return option.argParser((name) => assertUsable(name, 'It', schemaFault(name)));
}

function assertUsable(text: string, what: string, fault: string | undefined): string {
  if (fault === undefined) return text;
  throw new InvalidArgumentError(`${what} ${fault}.`);
}

function collectScopes(text: string, others: readonly string[] = []): string[] {
  const scopes = text.split(',');
  if (scopes.every((scope) => SCOPE.test(scope))) return [...new Set([...others, ...scopes])];
  throw new InvalidArgumentError(`A scope has no white space, quotes or backslashes, as ${CREATE_PLANTS} has none.`);
}

/** PostgreSQL reads it; `m` are minutes. */
function parseExpiry(text: string): string {
  if (/^(?:[1-9]\d{0,3}[mhdy]|never)$/.test(text)) return text;
  throw new InvalidArgumentError('It should be a time such as 30m, 12h, 90d or 1y, or never.');
}

/** Runs work on the tokens of DATABASE_URL, or else of the embedded database of this folder. */
async function withTokens<T>(schema: string | undefined, work: (tokens: TokensRepository) => Promise<T>): Promise<T> {
  const { DATABASE_URL, DATABASE_PASSWORD: password } = assertNoFaults(await readConfiguration());
  const url = DATABASE_URL ?? (await localUrl());
  const target = parseDatabaseUrl(url, password, schema);
  await withConnection(target, (query) => assertMigrated(query, target));
  const pool = new UrlPool({ url, password, schema, size: 1, timeout: STATEMENT_TIMEOUT_MS });
  return work(new TokensRepository(pool)).finally(() => pool.onApplicationShutdown());
}

async function localUrl(): Promise<string> {
  const url = await readFile(LOCAL_URL_FILE, 'utf8').catch(() => undefined);
  if (url !== undefined) return url.trim();
  const found = `no service with an embedded one was started in this folder (no ${LOCAL_URL_FILE})`;
  throw new ConfigurationError([`DATABASE_URL is missing: it must be that of the database of the service; ${found}`]);
}

/** Prints the record to standard error, and the token alone to standard output, for scripts. */
async function createToken(name: string, { scope = [CREATE_PLANTS], expires, schema }: Options): Promise<void> {
  const lifetime = expires === 'never' ? null : expires;
  const [token, record] = await withTokens(schema, (tokens) => tokens.create(name, scope, lifetime));
  printError(tableOf([record]));
  if (!scope.includes(CREATE_PLANTS)) printError(`As it lacks the scope ${CREATE_PLANTS}, it cannot create plants.`);
  printError('The token is shown this once: only a digest of it is stored.');
  process.stdout.write(`${token}\n`);
}

function print(records: readonly TokenRecord[]): void {
  process.stdout.write(`${tableOf(records)}\n`);
}

/** Rows written by hand may hold control characters, so each cell is escaped. */
function tableOf(records: readonly TokenRecord[]): string {
  const timeOf = (time: Date | null): string | undefined => time?.toISOString().replace(/\.\d+/, '');
  const rows = records.map(({ id, name, scopes, createdAt, expiresAt, lastUsedAt, state }) =>
    [id, name, scopes.join() || '-', timeOf(createdAt), timeOf(expiresAt) ?? 'never', timeOf(lastUsedAt) ?? '-', state]
      .map(String)
      .map(escapeControls),
  );
  const table = [HEADER, ...rows];
  const widths = HEADER.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: string[]): string => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ');
  return table.map((row) => lineOf(row).trimEnd()).join('\n');
}
