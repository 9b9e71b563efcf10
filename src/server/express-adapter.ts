import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { ResponseHook } from '../http/request-context.js';
import type { Environment } from '../config/environment.js';
import { pathOf } from './access-log.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { createHttpServer, type HttpServerClasses } from './http-server.js';

/** Nest's adapter for Express, with exact paths, on the store's HTTP server. */
export class PlantStoreAdapter extends ExpressAdapter {
  /** They see each answer. */
  readonly hooks: ResponseHook[] = [];
  private shutdown?: GracefulShutdown;

  constructor(private readonly environment: Environment) {
    // The router takes these settings only before its first use, which is in the base class.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const { server, connections } = createHttpServer(app, this.environment, expressClasses(app, this.hooks));
    this.shutdown = new GracefulShutdown(server, connections, this.environment);
    this.hooks.push(this.shutdown);
    this.httpServer = server;
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.shutdown?.close();
  }

  /** With the prefix, Nest would leave unknown paths outside of it to Express, which answers with a page of its own. */
  override setNotFoundHandler(handler: RequestHandler): void {
    super.setNotFoundHandler(handler);
  }

  /** Nest's words for an unknown path have it. */
  override getRequestUrl(request: Request): string {
    return pathOf(request);
  }

  /**
   * Body parsers, Nest's own too, run for every route but that of the plants, which reads its body behind the guard.
   */
  override use(...handlers: unknown[]): unknown {
    const path = `${this.environment.BASE_PATH}/plants`;
    return super.use(
      ...handlers.map((handler) => (isBodyParser(handler) ? exceptAt(path, handler) : handler)),
    ) as unknown;
  }
}

/** Nest looks for parsers by their names too. */
function isBodyParser(handler: unknown): handler is RequestHandler {
  return typeof handler === 'function' && /^(?:json|urlencoded|raw|text)Parser$/.test(handler.name);
}

function exceptAt(path: string, parser: RequestHandler): RequestHandler {
  const skipping: RequestHandler = (request, response, next) => {
    if (request.path === path) next();
    else parser(request, response, next);
  };
  return Object.defineProperty(skipping, 'name', { value: parser.name });
}

/**
 * Classes with the prototypes that Express sets for each request. V8 of Node.js 20 forgets the shape of an object whose
 * prototype changes: 3.3 times the CPU at 64 connections, 1.05 on Node.js 24. It leaves with Node.js 20.
 */
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
