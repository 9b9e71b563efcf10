import { connect, type Socket } from 'node:net';

/** How long a cancelled statement may take to answer. */
export const CANCEL_TIMEOUT_MS = 1000;
/** The CancelRequest of the protocol: its length, this code, and the two numbers of the session. */
const CANCEL_REQUEST_BYTES = 16;
const CANCEL_REQUEST_CODE = 80_877_102;

/** The members of a client that the types of pg leave out. */
interface Internals {
  readonly connection?: { readonly stream?: Socket };
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/**
 * Asks the server to cancel the statement of a client of pg, as libpq does. `cancel()` of pg sends nothing over TLS.
 * `pg_cancel_backend()` needs another connection, and behind a pooler it may end the statement of a stranger.
 */
export function requestCancel(client: object): void {
  const { connection, host, port, processID, secretKey } = client as Internals;
  // A host may lend another kind of client.
  if (connection?.stream === undefined) return;
  const { remoteAddress, remotePort = 0 } = connection.stream;
  const socket = remoteAddress === undefined ? connect(`${host}/.s.PGSQL.${port}`) : connect(remotePort, remoteAddress);
  const numbers = [CANCEL_REQUEST_BYTES, CANCEL_REQUEST_CODE, processID, secretKey];
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES);
  for (const [index, number] of numbers.entries()) request.writeInt32BE(number, 4 * index);
  // The server sends no answer, and nothing depends on the success.
  socket.on('error', () => undefined).setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.end(request);
}
