import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER, requestIdOf, type RequestObserver } from '../platform.js';
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
    const acceptFirst = new AcceptFirst((request, response) => {
      this.notify((observer) => observer.begin?.(request, response));
      app(request, response);
    });
    const classes = expressClasses(app, (response, durationMs) => {
      this.notify((observer) => observer.answered?.(response, durationMs));
    });
    const server = createHttpServer(acceptFirst.handle, this.serverOptions, classes);
    server.maxConnections = this.maxConnections;
    acceptFirst.watch(server);
    this.gracefulClose = new GracefulClose(server, acceptFirst, this.serverOptions);
    this.httpServer = server;
  }

  /** What observes a request must not harm it. */
  private notify(call: (observer: RequestObserver) => void): void {
    for (const observer of this.observers) {
      try {
        call(observer);
      } catch (error) {
        this.ownLogger.error('An observer of requests failed', error instanceof Error ? error.stack : error);
      }
    }
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.gracefulClose?.close();
  }
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

    // Node calls it too, where nobody else does.
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
