import { type Command, Option } from 'commander';
import { userInfo } from 'node:os';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import { type NewToken, type TokenExpiry, type TokenRecord, TokensService } from '../../auth/tokens.service.js';
import { parseDatabaseUrl, withConnection } from '../../database/database-url.js';
import { schemaFault } from '../../database/database.options.js';
import { assertMigrated } from '../../database/table-checks.js';
import { UrlDatabase } from '../../database/url-database.js';
import { escapeControls, escapeControlsInLines, reasonOf } from '../../util/text.js';
import { ConfigurationError, loadEnvironment } from '../environment.js';
import { useLocalDatabase } from './local-folder.js';
import { OutputError, print, printError, table, write } from './output.js';
import {
  collectScopes,
  DEFAULT_EXPIRY,
  DEFAULT_OVERLAP_SECONDS,
  parseExpiry,
  parseName,
  parseOverlap,
  refuseToken,
} from './token-arguments.js';

/** For each statement: the tables may be locked, or the server may have stopped answering. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** The fields that `list --json` prints, in this order, even if a record gets more of them. */
const LISTED_FIELDS = ['id', 'name', 'scopes', 'createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt', 'state'];
const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE'];

export const SCHEMA_OPTION = ['--schema <name>', "the PostgreSQL schema of the store, instead of the URL's"] as const;

interface Options {
  readonly schema?: string;
  readonly scope?: readonly string[];
  readonly expires?: TokenExpiry;
  readonly overlap: number;
  readonly json?: true;
}

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('access tokens, kept in the database (DATABASE_URL)');
  token
    .command('create')
    .description('make a token and print it, alone, to standard output, this once: only its digest is stored')
    .argument('<name>', '1 to 100 letters, digits and ._@/:+-; no other valid token may have it', parseName)
    .option('--scope <scope>', `${CREATE_PLANTS} if not given; may be repeated, for scopes of a host`, collectScopes)
    .addOption(expiresOption().default(DEFAULT_EXPIRY, '90d'))
    .option(...SCHEMA_OPTION)
    .action(createToken);
  token
    .command('list')
    .description('list all tokens, also ended ones, but not what clients send')
    .option('--json', `as an array of objects: ${LISTED_FIELDS.join(', ')}`)
    .option(...SCHEMA_OPTION)
    .action(listTokens);
  token
    .command('rotate')
    .description('make another token of the same name, scopes and length of life, and print it')
    .argument('<name>', 'the name of the token', refuseToken)
    .addOption(
      new Option('--overlap <time>', 'how long the old one stays valid, such as 30m, 12h or 2d, or 0')
        .default(DEFAULT_OVERLAP_SECONDS, '1h')
        .argParser(parseOverlap),
    )
    .addOption(expiresOption().default(undefined, 'as long a life as the old one'))
    .option(...SCHEMA_OPTION)
    .action(rotateToken);
  token
    .command('revoke')
    .description('end all valid tokens of a name, or one by its id: running services refuse them within 2 seconds')
    .argument('<name|id>', 'the name or the id of the token', refuseToken)
    .option(...SCHEMA_OPTION)
    .action(revokeTokens);
}

function expiresOption(): Option {
  return new Option(
    '--expires <when>',
    'its end: 30m, 12h, 90d or 1y from now, a date or date-time (UTC), or never',
  ).argParser(parseExpiry);
}

async function createToken(
  name: string,
  { scope = [CREATE_PLANTS], expires = DEFAULT_EXPIRY, schema }: Options,
): Promise<void> {
  await withTokens(schema, async (tokens, audit) => {
    const made = await tokens.create(name, scope, expires);
    audit('create', [made.record]);
    await printToken(made, []);
  });
}

async function listTokens({ json, schema }: Options): Promise<void> {
  const records = await withTokens(schema, (tokens) => tokens.list());
  // JSON.stringify leaves some control characters as they are. Escaped, they mean the same in JSON.
  await print(json ? escapeControlsInLines(JSON.stringify(records, LISTED_FIELDS, 2)) : tokenTable(records));
  if (records.length === 0) printError('There are no access tokens yet. Create one: plant-store token create NAME');
}

async function rotateToken(name: string, { overlap, expires, schema }: Options): Promise<void> {
  await withTokens(schema, async (tokens, audit) => {
    const { replaced, ...made } = await tokens.rotate(name, overlap, expires);
    audit('rotate', [made.record, ...replaced]);
    await printToken(made, replaced.map(describeReplaced));
  });
}

async function revokeTokens(nameOrId: string, { schema }: Options): Promise<void> {
  await withTokens(schema, async (tokens, audit) => {
    const { revoked, ended } = await tokens.revoke(nameOrId);
    if (revoked.length > 0) audit('revoke', revoked);
    const lines = revoked.length > 0 ? revoked.map(describeRevoked) : ended.map(describeEnded);
    const text = lines.map(escapeControls).join('\n');
    await print(text).catch((error: unknown) => {
      throw new OutputError(`${reasonOf(error)}, which was to say:\n${text}`);
    });
  });
}

type Audit = (action: string, records: readonly TokenRecord[]) => void;

/** Work on the tokens of the database of the environment: the embedded one if it names none. */
async function withTokens<T>(
  schema: string | undefined,
  work: (tokens: TokensService, audit: Audit) => Promise<T>,
): Promise<T> {
  const { DATABASE_URL, DATABASE_PASSWORD } = loadEnvironment(process.env);
  const fault = schemaFault(schema);
  if (fault !== undefined) throw new ConfigurationError([`--schema: ${fault}`]);
  const local = DATABASE_URL === undefined ? await useLocalDatabase() : undefined;
  const address = { url: local?.url ?? String(DATABASE_URL), password: DATABASE_PASSWORD, schema };
  const service = new UrlDatabase({ ...address, size: 1, timeout: STATEMENT_TIMEOUT_MS });
  try {
    const database = parseDatabaseUrl(address.url, address.password, schema);
    const role = await withConnection(
      database,
      async (query) => {
        await assertMigrated(query, database);
        const [row] = await query<{ role: string }>('SELECT current_user::text AS role');
        return String(row?.role);
      },
      { timeout: STATEMENT_TIMEOUT_MS },
    );
    return await work(new TokensService(service), (action, records) => {
      writeAudit(action, records, role);
    });
  } finally {
    await service.onApplicationShutdown();
    await local?.stop();
  }
}

/** Says on standard error who has changed which tokens, in the form of the service's log. */
function writeAudit(action: string, records: readonly TokenRecord[], role: string): void {
  const tokens = records.map(({ id, name }) => `${name} (id ${id})`).join(', ');
  const time = new Date().toISOString();
  printError(escapeControls(`${time}  info [Audit] token ${action}: ${tokens}, by ${userName()} as the role ${role}`));
}

/** The user of the operating system. In a container its number may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** Prints the token, alone, to standard output, and what it is to standard error. @throws OutputError that says to revoke what nobody has */
async function printToken({ token, record }: NewToken, replaced: readonly string[]): Promise<void> {
  const { id, name, scopes, expiresAt } = record;
  try {
    await write(`${token}\n`);
  } catch (error) {
    const advice =
      replaced.length > 0 ? `rotate again (plant-store token rotate ${name}), and then revoke it` : 'revoke it';
    const made = `the access token ${name} with the id ${id} was made, but could not be printed (${reasonOf(error)}).`;
    const lines = [made, ...replaced, `As nobody has it now, ${advice}: plant-store token revoke ${id}`];
    throw new OutputError(escapeControls(lines.join(' ')));
  }
  const end = expiresAt === null ? 'It never expires' : `It expires at ${utc(expiresAt)}`;
  const ignored = scopes.filter((scope) => scope !== CREATE_PLANTS).join(' ');
  const lines = [
    `Access token ${name}, with the id ${id}, for ${scopes.join(' ') || 'nothing'}. ${end}.`,
    ...replaced,
    ...(scopes.includes(CREATE_PLANTS)
      ? []
      : [`As it lacks the scope ${CREATE_PLANTS}, this token cannot create plants.`]),
    ...(ignored === '' ? [] : [`The store itself ignores ${ignored}.`]),
    'It is shown this once: only a digest of it is stored.',
  ];
  printError(lines.map(escapeControls).join('\n'));
}

function describeReplaced({ id, expiresAt, revokedAt }: TokenRecord): string {
  if (revokedAt !== null || expiresAt === null) return `The one with the id ${id} is revoked.`;
  return `The one with the id ${id} stays valid until ${utc(expiresAt)}.`;
}

function describeRevoked({ id, name }: TokenRecord): string {
  return `Revoked the access token ${name} with the id ${id}`;
}

function describeEnded({ id, name, expiresAt, revokedAt }: TokenRecord): string {
  const when = revokedAt ?? expiresAt;
  const how = revokedAt === null ? 'has expired' : 'was revoked';
  return `The access token ${name} with the id ${id} ${how} already${when === null ? '' : `, at ${utc(when)}`}`;
}

function tokenTable(records: readonly TokenRecord[]): string {
  const rows = records.map(({ id, name, scopes, createdAt, expiresAt, lastUsedAt, state }) => [
    String(id),
    name,
    scopes.join(',') || '-',
    utc(createdAt),
    expiresAt === null ? 'never' : utc(expiresAt),
    lastUsedAt === null ? '-' : utc(lastUsedAt),
    state,
  ]);
  return table([HEADER, ...rows]);
}

/** To the second. */
function utc(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}
