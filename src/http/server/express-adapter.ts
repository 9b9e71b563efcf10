import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER, requestIdOf, type RequestObserver } from '../request-context.js';
import { AcceptFirst } from './accept-first.js';
import { type CloseTimes, GracefulClose } from './graceful-close.js';
import { createHttpServer, type HttpServerOptions } from './http-server.js';

type Fields = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Express with exact paths and a server that answers even what Node would refuse by itself. */
export class PlantStoreAdapter extends ExpressAdapter {
  private readonly ownLogger = new Logger(PlantStoreAdapter.name);
  private gracefulClose: GracefulClose | undefined;

  /** @param maxConnections beyond as many open connections, the newest is closed at once */
  constructor(
    private readonly serverOptions: HttpServerOptions & CloseTimes,
    private readonly maxConnections: number,
    private readonly observers: readonly RequestObserver[] = [],
  ) {
    // Before the base class uses the application: its router takes these settings only once.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    // The base class has put one in front, for hooks that nothing here sets.
    const ownLayers = app.router.stack.length;
    let routes: ReadonlyMap<string, RouteHandler> | undefined;
    const dispatch = (request: IncomingMessage, response: ServerResponse): void => {
      routes ??= directRoutes(app.router.stack.slice(ownLayers) as unknown as Layer[]);
      const handle = request.method === 'POST' ? routes.get(request.url ?? '') : undefined;
      if (handle === undefined) {
        app(request, response);
        return;
      }
      // The one property that members of Express' responses need.
      (request as { res?: ServerResponse }).res = response;
      const next = (): void => {
        app(request, response);
      };
      handle(request, response, next).catch((error: unknown) => {
        this.ownLogger.error('The answer to a failure failed', error instanceof Error ? error.stack : error);
        response.destroy();
      });
    };
    const acceptFirst = new AcceptFirst(dispatch);
    const server = createHttpServer(
      (request, response) => {
        acceptFirst.begin(request, response);
      },
      this.serverOptions,
      expressClasses(app, this.answered),
    );
    server.maxConnections = this.maxConnections;
    acceptFirst.watch(server);
    this.gracefulClose = new GracefulClose(server, acceptFirst, this.serverOptions);
    this.httpServer = server;
  }

  /** What observes a request must not harm it. */
  private readonly answered = (response: ServerResponse, durationMs: number): void => {
    for (const observer of this.observers) {
      try {
        observer.answered(response, durationMs);
      } catch (error) {
        this.ownLogger.error('An observer of requests failed', error instanceof Error ? error.stack : error);
      }
    }
  };

  override async close(): Promise<void> {
    this.beforeClose();
    await this.gracefulClose?.close();
  }
}

/** Nest's own handler of a route, with its guards and filters. */
type RouteHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => Promise<unknown>;

/** A layer of Express' router, as far as it is used here. */
interface Layer {
  readonly route?: {
    readonly path: string;
    readonly methods: Readonly<Record<string, boolean>>;
    readonly stack: readonly { readonly handle: RouteHandler }[];
  };
  match(path: string): unknown;
}

/** The handlers of POST by their path, as far as Express would call nothing else before them for exactly this path. */
function directRoutes(layers: readonly Layer[]): ReadonlyMap<string, RouteHandler> {
  const ofPost = layers.filter(({ route }) => route === undefined || (route.methods.post ?? route.methods._all));
  const routes = new Map<string, RouteHandler>();
  for (const layer of ofPost) {
    const { path = '', stack = [] } = layer.route ?? {};
    const [only, ...others] = stack;
    if (only === undefined || others.length > 0) continue;
    if (ofPost.find((first) => first.match(path)) === layer) routes.set(path, only.handle);
  }
  return routes;
}

const ARRIVED_AT = Symbol('arrived at');

/**
 * Classes for the server of an Express application, whose instances are its requests and responses from the start. Express
 * gives each one another prototype, and V8 then forgets its shape: every access is slow from there on. These have that prototype
 * already, with the same one behind it, so nothing changes for Express.
 *
 * @param report called with each answer just before it is sent, which then has a request id
 */
export function expressClasses(
  app: Express,
  report?: (response: ServerResponse, durationMs: number) => void,
): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
} {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    private readonly [ARRIVED_AT] = performance.now();

    // Node calls it too, unless other code has done so.
    override writeHead(status: number, reason?: string | Fields, fields?: Fields): this {
      if (report !== undefined && !this.headersSent) {
        const given = (typeof reason === 'object' ? reason : fields) as OutgoingHttpHeaders | undefined;
        if (given?.[REQUEST_ID_HEADER] === undefined) this.setHeader(REQUEST_ID_HEADER, requestIdOf(this));
        this.statusCode = status;
        report(this, performance.now() - this[ARRIVED_AT]);
      }
      return super.writeHead(status, reason as string, fields);
    }
  }
  app.request = inPlaceOf(app.request, ExpressRequest.prototype);
  app.response = inPlaceOf(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The prototype of a class, with these members and the prototype behind them. */
function inPlaceOf<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
