import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import type { TokenExpiry } from '../../auth/tokens.service.js';
import { holdsToken, SCOPE } from '../../auth/token-format.js';
import { quoteArgument, UsageError } from '../parser.js';

const DAY_SECONDS = 86_400;
/** No months and calendar years: they have no fixed length. */
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: DAY_SECONDS,
  w: 7 * DAY_SECONDS,
  y: 365 * DAY_SECONDS,
};
const DURATION = /^(\d{1,10})([smhdwy])$/;
const MAX_DURATION_SECONDS = 100 * 365 * DAY_SECONDS;
const DATE = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
const MAX_SCOPE_LENGTH = 100;
const MAX_SCOPES = 50;
const HOST_SCOPE = /^(?!plants[:./])[^:./]+[:./]/i;

/** The seconds of a time such as 30m, 12h, 90d, 2w or 1y; undefined if the text is not a time. */
export function durationSeconds(option: string, text: string): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  if (count === undefined) return undefined;
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? NaN);
  if (seconds > MAX_DURATION_SECONDS)
    throw new UsageError(`${option} is ${quoteArgument(text)}, should be 100y at most`);
  return seconds;
}

/** How long the old token stays valid, in seconds. */
export function parseOverlap(text: string): number {
  const seconds = text === '0' ? 0 : durationSeconds('--overlap', text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--overlap is ${quoteArgument(text)}, should be a time such as 30m, 12h or 2d, or 0`);
}

export function parseExpiry(text: string): TokenExpiry {
  if (text === 'never') return 'never';
  const at = parseMoment(text);
  if (at !== undefined) return { at };
  const seconds = durationSeconds('--expires', text);
  if (seconds !== undefined && seconds > 0) return { seconds };
  throw new UsageError(
    `--expires is ${quoteArgument(text)}, should be a time from now such as 30m, 12h, 90d, 2w or 1y, ` +
      'a date such as 2030-12-31, a date-time such as 2030-12-31T18:00Z, or never',
  );
}

/** A token can still be used on the day that a date names. Without a time zone it is in UTC, like all that is printed. */
function parseMoment(text: string): Date | undefined {
  const [, day = '', time = '23:59:59.999', zone = 'Z'] = DATE.exec(text) ?? [];
  const at = Date.parse(`${day}T${time}${zone}`);
  // Date takes the 30th of February for the 2nd of March.
  const exists = !Number.isNaN(at) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return exists ? new Date(at) : undefined;
}

/** Parses the values of `--scope`; each may hold several scopes. */
export function parseScopes(values: readonly string[]): string[] {
  const scopes = [...new Set(values.flatMap((value) => value.split(/[\s,]+/)).filter((scope) => scope !== ''))];
  const wrong = scopes.find((scope) => scope.length > MAX_SCOPE_LENGTH || !SCOPE.test(scope));
  if (wrong !== undefined) {
    throw new UsageError(
      `--scope is ${quoteArgument(wrong)}, should have 1 to ${MAX_SCOPE_LENGTH} visible ASCII characters, without quotes and backslashes`,
    );
  }
  if (scopes.some(holdsToken))
    throw new UsageError('--scope is an access token, should be a scope such as plants:create');
  if (scopes.length === 0) throw new UsageError('--scope is empty, should be a scope such as plants:create');
  for (const scope of scopes) assertKnown(scope);
  if (scopes.length > MAX_SCOPES)
    throw new UsageError(`--scope names ${scopes.length} scopes, should be ${MAX_SCOPES} at most`);
  return scopes;
}

/** The store knows its own scopes only; what a route of a host requires (`RequireScopes`) has a prefix of the host's. */
function assertKnown(scope: string): void {
  if (scope === CREATE_PLANTS || HOST_SCOPE.test(scope)) return;
  throw new UsageError(
    `there is no scope ${quoteArgument(scope)}. ` +
      `The store has one, ${CREATE_PLANTS}; a scope of your own application needs a prefix of its own, as orders:read has`,
  );
}

/** @throws UsageError if the operand is a token instead of its name. The message does not repeat it. */
export function refuseToken(operand: string): void {
  if (!holdsToken(operand)) return;
  throw new UsageError(
    'the name or the id of an access token is wanted, never a token itself. As others can read a command line, ' +
      'that token should be revoked: plant-store token list shows its name and id',
  );
}
