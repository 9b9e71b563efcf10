import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import type { TokenRecord, TokensService } from '../../auth/tokens.service.js';
import { tokenNameFault } from '../../auth/token-format.js';
import { escapeControls, escapeControlsInLines } from '../../util/text.js';
import { onTokens, withServiceDatabase } from '../database.js';
import { OutputError, print } from '../output.js';
import { quoteArgument, UsageError } from '../parser.js';
import { parseExpiry, parseOverlap, parseScopes, refuseToken } from './token-arguments.js';
import { printToken, tokenTable, utc, writeAudit } from './token-output.js';

const DEFAULT_EXPIRY = '90d';
const DEFAULT_EXPIRY_REMARK = 'That is in 90 days, as --expires does not say otherwise.';
const DEFAULT_OVERLAP = '1h';
/** The fields that `list --json` prints, in this order, even if a record gets more of them. */
const LISTED_FIELDS = ['id', 'name', 'scopes', 'createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt', 'state'];
const ID = /^[0-9]+$/;

interface TokenOptions {
  readonly schema?: string;
  readonly name?: string;
  readonly expires?: string;
  readonly scope?: readonly string[];
  readonly overlap?: string;
  readonly json?: boolean;
}

type Work<T> = (tokens: TokensService) => Promise<T>;

function withTokens<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  return withServiceDatabase(schema, onTokens(work));
}

/** Changes tokens, and writes who did it to standard error. @param action as the command line has it */
function change<T>(
  { json = false, schema }: TokenOptions,
  action: string,
  work: Work<T>,
  changedBy: (result: T) => readonly TokenRecord[],
): Promise<T> {
  return withServiceDatabase(schema, async (database) => {
    const [row] = await database.query<{ role: string }>('SELECT current_user::text AS role');
    const result = await onTokens(work)(database);
    const changed = changedBy(result);
    if (changed.length > 0) writeAudit(action, changed, row?.role, json);
    return result;
  });
}

export async function createToken(options: TokenOptions, operand?: string): Promise<void> {
  const { name: option, expires, scope } = options;
  const name = operand ?? option;
  if (name === undefined) throw new UsageError('NAME is missing behind token create');
  if (operand !== undefined && option !== undefined)
    throw new UsageError('the name is given twice, should be given once: token create NAME');
  const fault = tokenNameFault(name);
  if (fault !== undefined)
    throw new UsageError(`${operand === undefined ? '--name' : 'NAME'} is ${quoteArgument(name)}: a name ${fault}`);
  const expiry = parseExpiry(expires ?? DEFAULT_EXPIRY);
  const scopes = parseScopes(scope ?? [CREATE_PLANTS]);

  const made = await change(
    options,
    'create',
    (tokens) => tokens.create(name, scopes, expiry),
    ({ record }) => [record],
  );
  await printToken(made, expires === undefined ? [DEFAULT_EXPIRY_REMARK] : []);
}

export async function listTokens({ json, schema }: TokenOptions): Promise<void> {
  const records = await withTokens(schema, (tokens) => tokens.list());
  // JSON.stringify leaves some control characters as they are. Escaped, they mean the same in JSON.
  await print(json === true ? escapeControlsInLines(JSON.stringify(records, LISTED_FIELDS, 2)) : tokenTable(records));
  if (records.length === 0) console.error('There are no access tokens yet. Create one: plant-store token create NAME');
}

export async function revokeTokens(options: TokenOptions, nameOrId: string): Promise<void> {
  refuseToken(nameOrId);
  const { revoked, ended } = await change(
    options,
    'revoke',
    (tokens) => tokens.revoke(nameOrId),
    (done) => done.revoked,
  );
  await report(revoked.length > 0 ? revoked.map(describeRevoked) : ended.map(describeEnded));
}

/** Prints what was changed, once for all: to print it nowhere would lose it. */
async function report(changes: readonly string[]): Promise<void> {
  const lines = changes.map(escapeControls);
  try {
    await print(lines.join('\n'));
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new OutputError([`${error.message}, which was to say:`, ...lines].join('\n'));
  }
}

function describeRevoked({ id, name }: TokenRecord): string {
  return `Revoked the access token ${name} with the id ${id}`;
}

function describeEnded({ id, name, expiresAt, revokedAt }: TokenRecord): string {
  const when = revokedAt ?? expiresAt;
  const how = revokedAt === null ? 'has expired' : 'was revoked';
  return `The access token ${name} with the id ${id} ${how} already${when === null ? '' : `, at ${utc(when)}`}`;
}

export async function rotateToken(options: TokenOptions, name: string): Promise<void> {
  const { overlap, expires } = options;
  refuseToken(name);
  if (ID.test(name))
    throw new UsageError(`${quoteArgument(name)} is an id, should be a name: all tokens of it are rotated`);
  const seconds = parseOverlap(overlap ?? DEFAULT_OVERLAP);
  const expiry = expires === undefined ? undefined : parseExpiry(expires);
  const { replaced, ...made } = await change(
    options,
    'rotate',
    (tokens) => tokens.rotate(name, seconds, expiry),
    (done) => [done.record, ...done.replaced],
  );
  await printToken(made, [], replaced.map(describeReplaced));
}

function describeReplaced({ id, expiresAt, revokedAt }: TokenRecord): string {
  if (revokedAt !== null || expiresAt === null) return `The one with the id ${id} is revoked.`;
  return `The one with the id ${id} stays valid until ${utc(expiresAt)}.`;
}
