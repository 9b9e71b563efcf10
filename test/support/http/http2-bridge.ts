import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { endServer, portOf } from './free-port.js';

/** What HTTP/2 says in other ways, or not at all. */
const OF_HTTP1 = ['host', 'connection', 'transfer-encoding', 'expect', 'upgrade'];

/**
 * Takes requests of HTTP/1 and sends each over HTTP/2: what tests send byte for byte reaches a server that speaks HTTP/2. A connection
 * here is a session there.
 */
export class Http2Bridge {
  private constructor(private readonly server: Server) {}

  /** @param origin where the server listens that speaks HTTP/2 */
  static async start(origin: string): Promise<Http2Bridge> {
    const sessions = new WeakMap<Socket, ClientHttp2Session>();
    const server = createServer((request, response) => {
      const session = sessions.get(request.socket);
      if (session) send(session, request, response);
    });
    server.on('connection', (socket) => {
      // No authority has signed a certificate of the tests.
      const session = connect(origin, { rejectUnauthorized: false });
      sessions.set(socket, session);
      const end = (): void => void socket.destroy();
      session.on('error', end).on('close', end);
      socket.on('close', () => {
        session.destroy();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new Http2Bridge(server);
  }

  get port(): number {
    return portOf(this.server);
  }

  stop(): Promise<void> {
    return endServer(this.server);
  }
}

function send(session: ClientHttp2Session, request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  const fields = {
    ...fieldsOf(request),
    [constants.HTTP2_HEADER_METHOD]: request.method,
    [constants.HTTP2_HEADER_PATH]: request.url,
  };
  const stream = session.request(fields, { endStream: length === undefined && coding === undefined });
  if (stream.writable) request.pipe(stream);
  stream.on('response', ({ ':status': status = 0, ...answered }) => {
    response.writeHead(status, answered);
    stream.pipe(response);
  });
  stream.on('error', () => response.destroy());
  // A client of HTTP/2 need not send the rest of a body that is answered.
  stream.on('end', () => {
    request.unpipe(stream).resume();
    stream.close();
  });
}

function fieldsOf({ headersDistinct }: IncomingMessage): OutgoingHttpHeaders {
  const kept = Object.entries(headersDistinct).filter(([name]) => !OF_HTTP1.includes(name));
  return Object.fromEntries(kept.map(([name, values = []]) => [name, values.length === 1 ? values[0] : values]));
}
