import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { endServer, portOf } from '../http/free-port.js';

/** Answers for an issuer of JWTs as the test says, which no provider does at will. */
export class KeyServer implements AsyncDisposable {
  /** The paths that were asked for, in turn. */
  readonly requests: string[] = [];

  private constructor(
    private readonly server: Server,
    /** How it answers from now on; without one it never does. */
    public answer: RequestListener | undefined,
  ) {
    server.on('request', (request, response) => {
      this.requests.push(request.url ?? '');
      this.answer?.(request, response);
    });
  }

  static async start(answer?: RequestListener): Promise<KeyServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new KeyServer(server, answer);
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.server)}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endServer(this.server);
  }
}

/** An answer of this value in JSON. */
export function json(value: unknown, status = 200): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };
}
