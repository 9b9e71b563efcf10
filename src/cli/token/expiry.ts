import { FIRST_MOMENT, LAST_MOMENT, type TokenExpiry } from '../../auth/tokens/token-record.js';
import { quoteArgument } from '../quote-argument.js';
import { UsageError } from '../usage.error.js';
import { durationSeconds } from './duration.js';

const DATE = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

/** Reads what `--expires` was given. */
export function parseExpiry(text: string): TokenExpiry {
  if (text === 'never') return 'never';
  const at = moment(text);
  if (at !== undefined) {
    if (at < FIRST_MOMENT) throw new UsageError(`--expires is ${quoteArgument(text)}, should be in the future`);
    if (at > LAST_MOMENT) {
      throw new UsageError(`--expires is ${quoteArgument(text)}, should be in the year 9999 at the latest, or never`);
    }
    return { at };
  }
  const seconds = durationSeconds('--expires', text);
  if (seconds !== undefined && seconds > 0) return { seconds };
  throw new UsageError(
    `--expires is ${quoteArgument(text)}, should be a time from now such as 30m, 12h, 90d, 2w or 1y, ` +
      'a date such as 2030-12-31, a date-time such as 2030-12-31T18:00Z, or never',
  );
}

/** A date is a day that the token can still be used on. What names no time zone is in UTC, like all that is printed. */
function moment(text: string): Date | undefined {
  const [, day, time = '23:59:59.999', zone = 'Z'] = DATE.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const at = new Date(`${day}T${time}${zone}`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** Date takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
