import type { Ratio } from '../measure/ratio.js';

export const NOT_MEASURED = '–';

/** With three significant digits; a dash if there is no number. */
export function numberText(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NOT_MEASURED;
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}

/** Bytes as MB. */
export function megabytes(bytes: number | undefined): string {
  return numberText(bytes === undefined ? undefined : bytes / 1e6);
}

/** With its interval, if it has one. */
export function ratioText(ratio: Ratio | undefined): string {
  const { median, low, high } = ratio ?? {};
  const text = numberText(median);
  return low === undefined ? text : `${text} (${numberText(low)} to ${numberText(high)})`;
}
