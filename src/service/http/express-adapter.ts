import { Logger, type RequestMethod } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestObserver } from '../../http/request-context.js';
import type { Environment } from '../environment.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer, type HttpServerClasses } from './http-server.js';

/** Nest's own handler of a route, with its guards and filters. */
type Handler = (request: IncomingMessage, response: ServerResponse, next: () => unknown) => Promise<unknown>;

/** Express with exact paths, whose routes of POST are called without it if no middleware is before them. */
export class PlantStoreAdapter extends ExpressAdapter {
  private readonly directHandlers = new Map<string, Handler>();
  /** Where middleware is, up to now. */
  private readonly usedPaths: unknown[] = [];
  private shutdown?: GracefulShutdown;

  constructor(
    private readonly environment: Environment,
    private readonly observers: RequestObserver[],
  ) {
    // Before the base class uses the application: its router takes these settings only once.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override use(...handlers: unknown[]): unknown {
    // The first may be a path, or a list of them.
    this.usedPaths.push(...[handlers[0]].flat());
    return super.use(...handlers) as unknown;
  }

  override createMiddlewareFactory(method: RequestMethod): ReturnType<ExpressAdapter['createMiddlewareFactory']> {
    const add = super.createMiddlewareFactory(method);
    return (path, middleware) => {
      this.usedPaths.push(path);
      return add(path, middleware) as unknown;
    };
  }

  /** Nest's router calls it for each route. What Nest adds behind them does not see the requests that they answer. */
  override post(path: unknown, handler?: Handler): unknown {
    if (isPlain(path) && handler !== undefined) {
      // Middleware sees what is below its own path, and perhaps anything if that is a pattern.
      const isSeen = this.usedPaths.some((used) => !isPlain(used) || `${path}/`.startsWith(`${used}/`));
      if (!isSeen) this.directHandlers.set(path, handler);
    }
    return super.post(path, handler as never) as unknown;
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const dispatch = (request: IncomingMessage, response: ServerResponse): void => {
      const handle = request.method === 'POST' ? this.directHandlers.get(request.url ?? '') : undefined;
      if (handle === undefined) {
        app(request, response);
        return;
      }
      // The one property that members of Express' responses need.
      (request as { res?: ServerResponse }).res = response;
      // No error handler of Express is behind it.
      handle(request, response, () => app(request, response) as unknown).catch((error: unknown) => {
        new Logger(PlantStoreAdapter.name).error('The answer to a failure failed', (Object(error) as Error).stack);
        response.destroy();
      });
    };
    const { server, queue } = createHttpServer(dispatch, this.environment, expressClasses(app, this.observers));
    server.maxConnections = this.environment.MAX_CONNECTIONS;
    this.shutdown = new GracefulShutdown(server, queue, this.environment);
    this.observers.push(this.shutdown);
    this.httpServer = server;
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.shutdown?.close();
  }
}

const isPlain = (path: unknown): path is string => typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path);

/** Classes with the prototypes that Express gives each request and response. Exchanged later, they would make every access slow. */
export function expressClasses(app: Express, observers: readonly RequestObserver[]): HttpServerClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    readonly #arrivedAt = performance.now();

    // Node calls it too, unless other code has done so.
    override writeHead(status: number, ...fields: unknown[]): this {
      const durationMs = performance.now() - this.#arrivedAt;
      if (!this.headersSent) for (const observer of observers) observer.answered(this, durationMs);
      return super.writeHead(status, ...(fields as []));
    }
  }
  app.request = adoptMembers(app.request, ExpressRequest.prototype);
  app.response = adoptMembers(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The prototype of a class, with these members and the prototype behind them. */
function adoptMembers<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
