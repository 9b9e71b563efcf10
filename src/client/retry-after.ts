/** The wait that an answer asks for in `Retry-After`, a number or a date (RFC 9110, section 10.2.3), in seconds. */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  const date = value.endsWith('GMT') ? Date.parse(value) : NaN;
  if (Number.isNaN(date)) return undefined;
  // The sender's clock, where it is told: ours may be wrong.
  const sent = Date.parse(headers.get('Date') ?? '');
  return Math.max(0, (date - (Number.isNaN(sent) ? Date.now() : sent)) / 1000);
}
