import { escapeControls } from './escape-controls.js';

const LONGEST = 60;

/** A value as a message shows it: in quotes, control characters escaped, shortened. */
export function quote(value: unknown): string {
  const text = String(value);
  return escapeControls(JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text));
}
