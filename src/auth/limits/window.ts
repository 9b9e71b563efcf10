/** What the limits count within: from the first to count on, and then from the next one after that. */
export const WINDOW_MS = 60_000;

/** Until when to wait, in the whole seconds that headers have: never too early, and never not at all. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}
