/** A parameter of a statement: a text, a list of texts, or nothing. */
export type QueryValue = string | null | (string | null)[];

/** What a connection of pg offers to queries of others; pg's types leave some of it out. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(statement: object): void;
  bind(values: object): void;
  execute(portal: object): void;
  sync(): void;
}

/**
 * A statement that returns one column of text. pg's own query also asks for a description of the rows, and makes an object of each.
 * Connections of pg call `submit`, and the methods that begin with `handle`.
 */
export class ColumnQuery {
  private readonly rows: string[] = [];

  /** @param name under which a connection keeps it; empty if it is not kept */
  constructor(
    readonly name: string,
    readonly text: string,
    private readonly values: readonly QueryValue[],
    readonly callback: (error: Error | null, rows: string[]) => void,
  ) {}

  submit(connection: Connection): void {
    const { name, text, values } = this;
    // One packet instead of four.
    connection.stream.cork();
    if (name === '' || connection.parsedStatements[name] === undefined) connection.parse({ name, text });
    connection.bind({ statement: name, values, valueMapper: toText });
    connection.execute({});
    connection.sync();
    connection.stream.uncork();
  }

  handleDataRow({ fields: [value] }: { fields: [string] }): void {
    this.rows.push(value);
  }

  handleCommandComplete(): void {
    // The server is ready next.
  }

  handleReadyForQuery(): void {
    this.callback(null, this.rows);
  }

  handleError(error: Error): void {
    this.callback(error, this.rows);
  }
}

/** A list in the form of PostgreSQL's arrays. */
function toText(value: QueryValue): string | null {
  if (!Array.isArray(value)) return value;
  const items = value.map((item) => (item === null ? 'NULL' : `"${item.replace(/["\\]/g, '\\$&')}"`));
  return `{${items.join(',')}}`;
}
