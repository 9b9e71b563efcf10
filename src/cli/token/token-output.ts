import { userInfo } from 'node:os';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import type { NewToken, TokenRecord } from '../../auth/tokens.service.js';
import { escapeControls, reasonOf } from '../../util/text.js';
import { OutputError, table, write } from '../output.js';

/**
 * Prints the token, alone, to standard output, and its description to standard error. @throws OutputError
 * @param replaced what happened to the tokens that it replaces
 */
export async function printToken(
  made: NewToken,
  remarks: readonly string[],
  replaced: readonly string[] = [],
): Promise<void> {
  const { id, name, scopes, expiresAt } = made.record;
  try {
    await write(`${made.token}\n`);
  } catch (error) {
    throw new OutputError(describeUnprinted(made, replaced, reasonOf(error)));
  }
  const end = expiresAt === null ? 'It never expires' : `It expires at ${utc(expiresAt)}`;
  const lines = [
    `Access token ${name}, with the id ${id}, for ${scopes.join(' ') || 'nothing'}. ${end}.`,
    ...remarks,
    ...replaced,
    ...scopeRemarks(scopes),
    'It is shown this once: only a digest of it is stored.',
  ];
  console.error(lines.map(escapeControls).join('\n'));
}

function describeUnprinted({ record: { id, name } }: NewToken, replaced: readonly string[], reason: string): string {
  const shown = escapeControls(name);
  const revoke = `revoke it: plant-store token revoke ${id}`;
  const advice = replaced.length > 0 ? `rotate again (plant-store token rotate ${shown}), and then ${revoke}` : revoke;
  return [
    `the access token ${shown} with the id ${id} was made, but could not be printed (${reason}).`,
    ...replaced,
    `As nobody has it now, ${advice}`,
  ].join(' ');
}

function scopeRemarks(scopes: readonly string[]): string[] {
  const unknown = scopes.filter((scope) => scope !== CREATE_PLANTS);
  if (unknown.length === 0 && scopes.length > 0) return [];
  const effect =
    unknown.length < scopes.length ? `, and ignores ${unknown.join(' ')}` : ': this token cannot create plants';
  return [`The store knows the scope ${CREATE_PLANTS} alone${effect}.`];
}

/** To the second. */
export function utc(time: Date): string {
  return `${time.toISOString().slice(0, -5)}Z`;
}

const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATE'];

export function tokenTable(records: readonly TokenRecord[]): string {
  return table([HEADER, ...records.map(cellsOf)]);
}

function cellsOf({ id, name, scopes, createdAt, expiresAt, lastUsedAt, state }: TokenRecord): string[] {
  return [
    String(id),
    name,
    scopes.join(',') || '-',
    utc(createdAt),
    expiresAt === null ? 'never' : utc(expiresAt),
    lastUsedAt === null ? '-' : utc(lastUsedAt),
    state,
  ];
}

/**
 * Writes the line of the log that says who changed tokens to standard error, as JSON with the names of the service's log.
 * @param action the command: create, rotate or revoke
 * @param role the role of the database
 */
export function writeAudit(
  action: string,
  records: readonly TokenRecord[],
  role: string | undefined,
  json: boolean,
): void {
  const time = new Date().toISOString();
  const message = `token ${action}`;
  const user = userName();
  const tokens = records.map(({ id, name }) => ({ id, name }));
  const names = tokens.map(({ id, name }) => `${name} (id ${id})`).join(', ');
  const line = json
    ? JSON.stringify({ time, level: 'info', context: 'Audit', message, tokens, user, role })
    : `${time}  info [Audit] ${message}: ${names}, by ${user ?? 'an unknown user'} as the role ${role ?? 'unknown'}`;
  console.error(escapeControls(line));
}

/** The user of the operating system. In a container its number may have no name. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return process.getuid?.().toString();
  }
}
