import pg from 'pg';

/** A statement as pg sent it, with the parameters of the first time. */
export interface SentStatement {
  readonly text: string;
  readonly values: unknown[] | undefined;
}

/** Runs `work`, and returns what this process sent to databases meanwhile, by any connection, each text once. */
export async function sentDuring(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent = new Map<string, SentStatement>();
  const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const { query } = prototype;
  prototype.query = function (this: pg.Client, ...args) {
    const [statement, values] = args as [string | pg.QueryConfig, unknown];
    const { text, values: own } = typeof statement === 'string' ? { text: statement, values: undefined } : statement;
    const given = own ?? (Array.isArray(values) ? (values as unknown[]) : undefined);
    if (!sent.has(text)) sent.set(text, { text, values: given?.length === 0 ? undefined : given });
    return Reflect.apply(query, this, args);
  };
  try {
    await work();
  } finally {
    prototype.query = query;
  }
  return [...sent.values()];
}
