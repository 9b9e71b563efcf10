/** The call stack that the engine adds to its messages. */
const ENGINE_STACK = /\n\s*0: .*/s;

/** Why a connection, a statement or the schema engine failed, in one line. */
export function reasonOf(error: unknown): string {
  const { message, errors = [] } = Object(error) as Partial<AggregateError>;
  // Connecting to a name with several addresses fails with an error for each, and with no message of its own.
  if (errors.length > 0) return [...new Set(errors.map(reasonOf))].join('; ');
  return (message ?? String(error))
    .replace(ENGINE_STACK, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ');
}

/** Control characters, line separators, and what turns the direction of writing: they steer what shows the text. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text of one line, with what would steer a terminal or a log escaped as JSON does it. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same of a text whose lines are its own. */
export function escapeControlsInLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

const LONGEST = 60;

/** A value as a message shows it: in quotes, control characters escaped, shortened. */
export function quote(value: unknown): string {
  const text = String(value);
  return escapeControls(JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text));
}
