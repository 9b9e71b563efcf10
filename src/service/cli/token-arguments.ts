import { InvalidArgumentError } from 'commander';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import type { TokenExpiry } from '../../auth/tokens.service.js';
import { holdsToken, SCOPE, tokenNameFault } from '../../auth/token-format.js';

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
const MAX_DURATION_SECONDS = 100 * 365 * DAY_SECONDS;
const DATE = /^([1-9]\d{3}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
/** What a route of a host requires has a prefix of the host's. */
const HOST_SCOPE = /^(?!plants[:./])[^:./]+[:./]/i;
export const DEFAULT_EXPIRY: TokenExpiry = { seconds: 90 * DAY_SECONDS };
export const DEFAULT_OVERLAP_SECONDS = 3600;

export function parseName(name: string): string {
  const fault = tokenNameFault(name);
  if (fault !== undefined) throw new InvalidArgumentError(`A name ${fault}.`);
  return name;
}

/** A token can still be used on the day that a date names. Without a time zone it is in UTC, like all that is printed. */
export function parseExpiry(text: string): TokenExpiry {
  if (text === 'never') return 'never';
  const [, day = '', time = '23:59:59.999', zone = 'Z'] = DATE.exec(text) ?? [];
  const at = new Date(`${day}T${time}${zone}`);
  // Date takes the 30th of February for the 2nd of March.
  if (!Number.isNaN(at.getTime()) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)) return { at };
  const seconds = secondsOf(text);
  if (seconds > 0) return { seconds };
  throw new InvalidArgumentError(
    'It should be a time from now such as 30m, 12h, 90d, 2w or 1y (100y at most), ' +
      'a date such as 2030-12-31, a date-time such as 2030-12-31T18:00Z, or never.',
  );
}

export function parseOverlap(text: string): number {
  const seconds = text === '0' ? 0 : secondsOf(text);
  if (seconds >= 0) return seconds;
  throw new InvalidArgumentError('It should be a time such as 30m, 12h or 2d (100y at most), or 0.');
}

/** NaN if the text is no time such as 90d, or too long a one. */
function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,10})([smhdwy])$/.exec(text) ?? [];
  const seconds = count === '' ? NaN : Number(count) * (UNIT_SECONDS[unit] ?? NaN);
  return seconds <= MAX_DURATION_SECONDS ? seconds : NaN;
}

export function collectScopes(text: string, others: readonly string[] = []): string[] {
  const scopes = text.split(',');
  if (!scopes.every((scope) => SCOPE.test(scope) && (scope === CREATE_PLANTS || HOST_SCOPE.test(scope)))) {
    throw new InvalidArgumentError(
      `The store has one scope, ${CREATE_PLANTS}; a scope of your own application needs a prefix of its own, as orders:read has.`,
    );
  }
  return [...new Set([...others, ...scopes])];
}

export function refuseToken(nameOrId: string): string {
  if (!holdsToken(nameOrId)) return nameOrId;
  throw new InvalidArgumentError(
    'It should be the name or the id of an access token, never a token itself. As others can read a command line, ' +
      'that token should be revoked: plant-store token list shows its name and id.',
  );
}
