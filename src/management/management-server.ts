import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PlantsHealth } from '../plants/plants.health.js';
import { reasonOf, rootReasonOf } from '../util/text.js';
import { Environment } from '../config/environment.js';
import { Metrics } from './metrics.js';

const REQUEST_TIMEOUT_MS = 10_000;
/** The newest connection beyond this limit is closed. Probes need few, and clients need the descriptors. */
const MAX_CONNECTIONS = 64;

/** The management listener. It is a plain server, so it answers even if the public one does not. */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(ManagementServer.name);
  private readonly server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void this.answer(request, response);
  });
  private isStopping = false;
  /** The reason in the last log line; undefined while plants can be created. */
  private loggedReason: string | undefined;

  constructor(
    private readonly environment: Environment,
    private readonly publicListener: HttpAdapterHost,
    private readonly health: PlantsHealth,
    private readonly metrics: Metrics,
  ) {}

  /** The address of the listener; undefined while it is closed. */
  address(): AddressInfo | undefined {
    // Only a pipe has a string as its address.
    return (this.server.address() as AddressInfo | null) ?? undefined;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { MANAGEMENT_HOST: host, MANAGEMENT_PORT: port } = this.environment;
    this.server.maxConnections = MAX_CONNECTIONS;
    await once(this.server.listen({ host, port }), 'listening');
    // The listener must not keep the process alive if the start fails elsewhere.
    this.server.unref();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // An idle probe must not delay the stop.
    this.server.closeAllConnections();
    await closed;
  }

  private async answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const [path] = url.split('?', 1);
      if (path === '/livez') respondJson(response, 200, { status: 'ok' });
      else if (path === '/readyz') {
        const reason = await this.findObstacle();
        if (reason === undefined) respondJson(response, 200, { status: 'ok' });
        else respondJson(response, 503, { status: 'unavailable', reason });
      } else if (path === '/metrics') {
        const isReady = (await this.findObstacle()) === undefined;
        const { text, type } = await this.metrics.expose(isReady);
        respond(response, 200, type, text);
      } else respondJson(response, 404, { message: 'No such path; there are /livez, /readyz and /metrics.' });
    } catch (error) {
      this.logger.error(error instanceof Error ? error.stack : error);
      respondJson(response, 500, { message: 'The service could not answer. Its log says why.' });
    }
  }

  /** Why this process cannot take requests; undefined if it can. */
  private async findObstacle(): Promise<string | undefined> {
    if (!this.publicListener.listening) return 'the service is starting';
    const check = this.isStopping ? undefined : this.health.check();
    const failure = await check?.then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    // A stop may have begun during the check.
    if (this.isStopping) return 'the service is shutting down';
    const reason = failure && reasonOf(failure);
    if (reason === this.loggedReason) return reason;
    this.loggedReason = reason;
    // The log alone says what the server or the network reported.
    if (failure)
      this.logger.warn(`The service is not ready: ${[...new Set([reason, rootReasonOf(failure)])].join(': ')}`);
    else this.logger.log('The service is ready again');
    return reason;
  }
}

function respondJson(response: ServerResponse, status: number, body: object): void {
  respond(response, status, 'application/json', JSON.stringify(body));
}

function respond(response: ServerResponse, status: number, type: string, text: string): void {
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': length, 'Cache-Control': 'no-store' }).end(text);
}
