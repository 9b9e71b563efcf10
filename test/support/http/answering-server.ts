import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { originOf } from './local-server.js';

export interface CannedAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

export interface ReceivedRequest {
  method: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends the given answers, one after the other; for answers that no store gives, or not at will. */
export class AnsweringServer implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];

  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  /** @param answers the last is repeated; undefined keeps the request waiting */
  static async start(...answers: (CannedAnswer | undefined)[]): Promise<AnsweringServer> {
    const server = createServer();
    const answering = new AnsweringServer(server);
    server.on('request', (request, response) => {
      void text(request).then((body) => {
        const answer = answers[Math.min(answering.requests.length, answers.length - 1)];
        answering.requests.push({ method: request.method, headers: request.headers, body });
        if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return answering;
  }

  get url(): string {
    return originOf(this.server);
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Breaks every connection, in the midst of an answer too. */
  disconnect(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.disconnect();
    await closed;
  }
}
