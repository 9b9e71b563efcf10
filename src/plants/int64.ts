export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const MAX_DIGITS = 19;
/** Most ids: within the range for certain, as they are written. */
const PLAIN = /^-?\d{1,18}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Whether this is an int64, as a bigint. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

/**
 * The int64 of a JSON number: `5`, `5.0` and `50e-1` are the same one. Returns undefined where the number
 * has a fraction or lies outside of int64. Its size is checked before it is expanded, so `1e999999999` costs nothing.
 */
export function parseInt64(source: string): bigint | undefined {
  if (PLAIN.test(source)) return BigInt(source);
  const match = NUMBER.exec(source);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;

  // Loops, because a pattern like /0+$/ takes quadratic time on a long run of zeros in the middle.
  let first = 0;
  while (digits[first] === '0') first++;
  if (first === digits.length) return 0n;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;

  // Beyond 2^53 Number() rounds the exponent, but such an exponent is out of range however it is rounded.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - first + zeros > MAX_DIGITS) return undefined;
  const value = BigInt(`${sign}${digits.slice(first, end)}${'0'.repeat(zeros)}`);
  return isInt64(value) ? value : undefined;
}
