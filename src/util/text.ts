/** A failure whose message explains it. Its stack is not printed. */
export class ExplainedError extends Error {}

/** Why a connection or a statement failed, in one line. */
export function reasonOf(error: unknown): string {
  const { message, errors = [] } = Object(error) as Partial<AggregateError>;
  // Node.js tries each address of a host name. Its error then has one error for each address, and no message.
  if (errors.length > 0) return [...new Set(errors.map(reasonOf))].join('; ');
  return (message ?? String(error)).trim().replace(/\s*\n\s*/g, ' ');
}

/** The message of what a check throws, in one line; undefined if it does not throw. */
export function messageIfThrows(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Control characters, line separators and marks of writing direction. A terminal obeys them. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Escapes, as JSON does, the characters that would steer a terminal or break a line of the log. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const MAX_QUOTED = 60;

/** Quotes, shortens and escapes a value for a message. */
export function quote(value: unknown): string {
  const text = String(value);
  return escapeControls(JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 1)}…` : text));
}

/** Makes each line of a text safe for a terminal. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

/** Describes a wrong value. A text is described by its type alone, because it may be a secret. */
export function describeFound(value: unknown): string {
  if (value === undefined) return 'is missing';
  if (value === null || typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `is ${value}`;
  const type = Array.isArray(value) ? 'array' : typeof value;
  return `is ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
}
