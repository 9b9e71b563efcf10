import { timingSafeEqual } from 'node:crypto';

const expected = Buffer.from(`Bearer ${process.env.ACCESS_TOKEN ?? ''}`);

/** Whether an Authorization header holds the one access token; compared in constant time. */
export function isAuthorized(header = ''): boolean {
  const given = Buffer.from(header);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
