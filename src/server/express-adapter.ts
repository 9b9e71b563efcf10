import { Logger, type RequestMethod } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { ResponseHook } from '../http/request-context.js';
import type { Environment } from '../config/environment.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer, type HttpServerClasses } from './http-server.js';

/** The handler of a route that Nest makes, with its guards and filters. */
type Handler = (request: IncomingMessage, response: ServerResponse, next: () => unknown) => Promise<unknown>;

/** Express with exact paths. It calls POST routes directly if no middleware may see them. */
export class PlantStoreAdapter extends ExpressAdapter {
  private readonly directHandlers = new Map<string, Handler>();
  /** The paths that have middleware. */
  private readonly middlewarePaths: unknown[] = [];
  private shutdown?: GracefulShutdown;

  constructor(
    private readonly environment: Environment,
    private readonly hooks: ResponseHook[],
  ) {
    // The router takes these settings only before its first use, which is in the base class.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override use(...handlers: unknown[]): unknown {
    // The first argument may be a path or a list of paths.
    this.middlewarePaths.push(...[handlers[0]].flat());
    return super.use(...handlers) as unknown;
  }

  override createMiddlewareFactory(method: RequestMethod): ReturnType<ExpressAdapter['createMiddlewareFactory']> {
    const add = super.createMiddlewareFactory(method);
    return (path, middleware) => {
      this.middlewarePaths.push(path);
      return add(path, middleware) as unknown;
    };
  }

  /** The router of Nest calls this for each route. Express does not see the requests of these routes. */
  override post(path: unknown, handler?: Handler): unknown {
    if (isStaticPath(path) && handler !== undefined) {
      // Middleware sees all paths below its own. A pattern may match any path.
      const isSeen = this.middlewarePaths.some((used) => !isStaticPath(used) || `${path}/`.startsWith(`${used}/`));
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
      // Members of Express' responses need this property alone.
      (request as { res?: ServerResponse }).res = response;
      // No error handler of Express sees this failure.
      handle(request, response, () => app(request, response) as unknown).catch((error: unknown) => {
        new Logger(PlantStoreAdapter.name).error('The answer to a failure failed', (Object(error) as Error).stack);
        response.destroy();
      });
    };
    const { server, connections } = createHttpServer(dispatch, this.environment, expressClasses(app, this.hooks));
    server.maxConnections = this.environment.MAX_CONNECTIONS;
    this.shutdown = new GracefulShutdown(server, connections, this.environment);
    this.hooks.push(this.shutdown);
    this.httpServer = server;
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.shutdown?.close();
  }
}

const isStaticPath = (path: unknown): path is string => typeof path === 'string' && /^(?:\/[\w.~-]+)+$/.test(path);

/** Classes with the prototypes that Express would set for each request. Setting them later makes every access slow. */
export function expressClasses(app: Express, hooks: readonly ResponseHook[]): HttpServerClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    readonly #arrivedAt = performance.now();

    // Node.js calls it too, unless other code has called it.
    override writeHead(status: number, ...fields: unknown[]): this {
      const durationMs = performance.now() - this.#arrivedAt;
      if (!this.headersSent) for (const hook of hooks) hook.beforeHead(this, durationMs);
      return super.writeHead(status, ...(fields as []));
    }
  }
  app.request = adoptMembers(app.request, ExpressRequest.prototype);
  app.response = adoptMembers(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Gives these members, and the prototype behind them, to the prototype of a class. */
function adoptMembers<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
