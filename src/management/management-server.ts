import {
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Environment } from '../config/environment.js';
import { rootReasonOf } from '../database/database.errors.js';
import { PlantsHealth } from '../plants/plants.health.js';
import { reasonOf } from '../util/text.js';
import { Metrics } from './metrics.js';

/** The management listener. It is a plain server, so it answers even if the public one does not. */
@Injectable()
export class ManagementServer implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(ManagementServer.name);
  private readonly server = createServer(({ url = '' }, response) => {
    this.answer(url.split('?', 1)[0], response).catch((error: unknown) => {
      this.logger.error(error);
      response.destroy();
    });
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
    await once(this.server.listen({ host, port }), 'listening');
    // The listener must not keep the process alive if the start fails elsewhere.
    this.server.unref();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  onApplicationShutdown(): void {
    this.server.close();
    // An idle probe must not delay the stop.
    this.server.closeAllConnections();
  }

  private async answer(path: string | undefined, response: ServerResponse): Promise<void> {
    if (path === '/livez') {
      respond(response, 200, { status: 'ok' });
    } else if (path === '/readyz') {
      const reason = await this.findObstacle();
      if (reason === undefined) respond(response, 200, { status: 'ok' });
      else respond(response, 503, { status: 'unavailable', reason });
    } else if (path === '/metrics') {
      const { text, type } = await this.metrics.expose((await this.findObstacle()) === undefined);
      respond(response, 200, text, type);
    } else {
      respond(response, 404, { message: 'No such path; there are /livez, /readyz and /metrics.' });
    }
  }

  /** Why this process cannot take requests; undefined if it can. */
  private async findObstacle(): Promise<string | undefined> {
    if (!this.publicListener.listening) return 'the service is starting';
    const failure = await this.health.check().then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    // Asked now, as a stop may have begun during the check.
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

function respond(response: ServerResponse, status: number, body: object | string, type = 'application/json'): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** `/livez`, `/readyz` and `/metrics`, on a listener of their own. It is imported with the modules that it watches. */
@Module({ providers: [ManagementServer, Metrics] })
export class ManagementModule {}
