import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { listenError } from '../config/listen-error.js';
import type { ManagementOptions } from './management-options.js';
import { MANAGEMENT_OPTIONS } from './management.module-definition.js';
import { Readiness } from './readiness.js';

interface Answer {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

/** The management listener: a plain server, so that it answers whatever becomes of the public one. */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    void this.handle(request, response);
  });

  private readonly routes = new Map<string, () => Answer | Promise<Answer>>([
    ['/livez', () => this.answerLiveness()],
    ['/readyz', () => this.answerReadiness()],
  ]);

  constructor(
    @Inject(MANAGEMENT_OPTIONS) private readonly options: ManagementOptions,
    private readonly readiness: Readiness,
  ) {}

  /** Where the listener is bound, nothing while it is closed. */
  address(): AddressInfo | undefined {
    // A string is the address of a pipe, which this server never listens on.
    return (this.server.address() as AddressInfo | null) ?? undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { host, port } = this.options;
    try {
      this.server.listen({ host, port });
      await once(this.server, 'listening');
    } catch (error) {
      throw listenError(error, { port: 'MANAGEMENT_PORT', host: 'MANAGEMENT_HOST' }, this.options);
    }
    // A process whose start fails elsewhere, or that has nothing else to do, must not be kept alive by its own probes.
    this.server.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // Nobody waits for an answer that matters any more, and an idle probe must not hold up the end.
    this.server.closeAllConnections();
    await closed;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, headers } = await this.answer(request);
    const content = JSON.stringify(body);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(content),
      'Cache-Control': 'no-store',
      ...headers,
    });
    response.end(content);
  }

  private answer({ method = '', url = '' }: IncomingMessage): Answer | Promise<Answer> {
    const [path = ''] = url.split('?');
    const route = this.routes.get(path);
    if (!route) {
      return { status: 404, body: { message: `No such path; there are ${[...this.routes.keys()].join(' and ')}.` } };
    }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, body: { message: `Use GET, not ${method}.` }, headers: { Allow: 'GET, HEAD' } };
    }
    return route();
  }

  private answerLiveness(): Answer {
    return { status: 200, body: { status: 'ok' } };
  }

  private async answerReadiness(): Promise<Answer> {
    const reason = await this.readiness.findObstacle();
    return reason === undefined
      ? { status: 200, body: { status: 'ok' } }
      : { status: 503, body: { status: 'unavailable', reason } };
  }
}
