/** A failure whose message says what is wrong and what to do, so that the stack would add nothing. */
export abstract class ExplainedError extends Error {}

/** Why a connection or a statement failed, in one line. */
export function reasonOf(error: unknown): string {
  const { message, errors = [] } = Object(error) as Partial<AggregateError>;
  // Connecting to a name with several addresses fails with an error for each, and with no message of its own.
  if (errors.length > 0) return [...new Set(errors.map(reasonOf))].join('; ');
  return (message ?? String(error)).trim().replace(/\s*\n\s*/g, ' ');
}

/** Why a check throws, in one line; undefined if it does not. */
export function failureOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** What caused a failure in the end, in one line: what PostgreSQL said, for example, which a driver adapter of Prisma's keeps. */
export function rootReasonOf(error: unknown): string {
  const { cause } = Object(error) as { cause?: { message?: string; originalMessage?: string } };
  if (cause?.originalMessage !== undefined) return reasonOf(cause.originalMessage);
  return cause?.message === undefined ? reasonOf(error) : rootReasonOf(cause);
}

/** Control characters, line separators and marks of writing direction: they steer a terminal that shows the text. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text of one line, with characters that would steer a terminal or a log escaped as in JSON. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A name that others gave, for a message that may be pasted into a shell: what could mean something there is escaped. */
export function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N} _.@:/+-]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
}

const MAX_QUOTED = 60;

/** A value as a message shows it: in quotes, control characters escaped, shortened. */
export function quote(value: unknown): string {
  const text = String(value);
  return escapeControls(JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 1)}…` : text));
}

/** Whether a text is an absolute URL that can be fetched over HTTP: with neither user nor fragment, and a query only if it may have one. */
export function isHttpUrl(text: unknown, { query = false } = {}): text is string {
  if (typeof text !== 'string' || !/^https?:\/\/[^\s#]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '' && (query || !text.includes('?'));
}
