/** A whole number from 1 on, of an option. */
export function positiveNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new RangeError(`${option} is "${text}", should be a whole number from 1 on`);
  return Number(text);
}

/** Several of them, separated by commas. */
export function positiveNumbers(option: string, text: string): number[] {
  return text.split(',').map((part) => positiveNumber(option, part));
}

/** Several that may be 0 as well. */
export function wholeNumbers(option: string, text: string): number[] {
  return text.split(',').map((part) => (part === '0' ? 0 : positiveNumber(option, part)));
}
