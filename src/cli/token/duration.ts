import { quoteArgument } from '../quote-argument.js';
import { UsageError } from '../usage.error.js';

const DAY = 86_400;
/** Without months and calendar years, which are of no one length. */
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: DAY, w: 7 * DAY, y: 365 * DAY };
const FORM = /^(\d{1,10})([smhdwy])$/;
const LONGEST = 100 * 365 * DAY;

/** The seconds of a time such as 30m, 12h, 90d, 2w or 1y; undefined where it does not look like one. */
export function durationSeconds(option: string, text: string): number | undefined {
  const [, count, unit = ''] = FORM.exec(text) ?? [];
  if (count === undefined) return undefined;
  const seconds = Number(count) * (SECONDS[unit] ?? NaN);
  if (seconds > LONGEST) throw new UsageError(`${option} is ${quoteArgument(text)}, should be 100y at most`);
  return seconds;
}
