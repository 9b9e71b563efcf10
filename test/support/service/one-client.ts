import { afterEach } from '@jest/globals';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createHttpServer } from '../../../src/service/http/http-server.js';
import { endServer } from '../http/free-port.js';

/** A server of the service with one client, until the end of the test. */
export interface OneClient {
  readonly server: Server;
  readonly client: Socket;
  /** The server's end of the connection. */
  readonly connection: Socket;
}

/** Returns what opens such a server. */
export function useOneClient(requestTimeout: number): (listener: RequestListener) => Promise<OneClient> {
  let opened: OneClient | undefined;
  afterEach(async () => {
    opened?.client.destroy();
    if (opened) await endServer(opened.server);
  });
  return async (listener) => {
    const { server } = createHttpServer(listener, { errorStatus: 'contract', requestTimeout });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const { port } = server.address() as AddressInfo;
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    const [connection] = await accepted;
    return (opened = { server, client, connection });
  };
}
