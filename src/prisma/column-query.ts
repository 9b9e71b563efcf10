/** A parameter of a statement: a text, a list of texts, or null. */
export type QueryValue = string | null | (string | null)[];

/** The methods of a connection of pg that a query may use. The types of pg leave some out. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void };
  readonly parsedStatements: Readonly<Record<string, string>>;
  parse(statement: object): void;
  bind(values: object): void;
  execute(portal: object): void;
  sync(): void;
}

/**
 * A statement that returns one column of text. The query of pg also asks for a description of the rows and makes an
 * object of each. A client of pg calls `submit` and the methods that begin with `handle`.
 */
export class ColumnQuery {
  private readonly rows: string[] = [];

  /** @param name the name of the prepared statement; empty if it is not kept */
  constructor(
    readonly name: string,
    readonly text: string,
    private readonly values: readonly QueryValue[],
    readonly callback: (error: Error | null, rows: string[]) => void,
  ) {}

  submit(connection: Connection): void {
    const { name, text, values } = this;
    // The four messages leave in one packet.
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
    // `handleReadyForQuery` follows.
  }

  handleReadyForQuery(): void {
    this.callback(null, this.rows);
  }

  handleError(error: Error): void {
    this.callback(error, this.rows);
  }
}

/** Writes a list in the syntax of a PostgreSQL array. */
function toText(value: QueryValue): string | null {
  if (!Array.isArray(value)) return value;
  const items = value.map((item) => (item === null ? 'NULL' : `"${item.replace(/["\\]/g, '\\$&')}"`));
  return `{${items.join(',')}}`;
}
