const LONGEST = 60;

/** A value as a message shows it: in quotes, control characters escaped, shortened. */
export function quote(value: unknown): string {
  const text = String(value);
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
}
