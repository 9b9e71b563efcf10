import type { Socket } from 'node:net';
import type pg from 'pg';

/** What pg's types leave out of a client. */
type Internals = Readonly<{
  connection: { stream: Socket };
  /** The process of the server that works for it. */
  processID: number;
}>;

export function internalsOf(client: pg.ClientBase): Internals {
  return client as unknown as Internals;
}

/** Ends a connection at once, in the midst of a statement too: pg has no way to. Its pool then removes it. */
export function giveUp(client: pg.ClientBase, reason = 'the connection was given up'): void {
  internalsOf(client).connection.stream.destroy(new Error(reason));
}

/** A lost connection also fails what waits for it; without a listener, the event would end the process. */
export function ignoreErrors<Client extends pg.ClientBase>(client: Client): Client {
  return client.on('error', () => undefined);
}
