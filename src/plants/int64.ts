// The ids of plants: every integer of 64 bits, read from JSON without a loss.

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const MAX_DIGITS = 19;
/** Most ids. Such a number is certainly within the range. */
const PLAIN = /^-?\d{1,18}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

/** The int64 of a JSON number; undefined if it is not one. `5`, `5.0` and `50e-1` are the same integer. */
export function parseInt64(source: string): bigint | undefined {
  if (PLAIN.test(source)) return BigInt(source);
  const match = NUMBER.exec(source);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // A loop, because the pattern /0+$/ takes quadratic time on a long run of zeros in the middle.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;

  // The size is checked before the zeros are added, so 1e999999999 costs nothing. An exponent that Number() rounds is
  // out of range anyway.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end + zeros > MAX_DIGITS) return undefined;
  const value = BigInt(`${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`);
  return isInt64(value) ? value : undefined;
}
