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
