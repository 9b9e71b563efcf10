import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';
import { AcceptFirst } from './accept-first.js';
import { type CloseTimes, GracefulClose } from './graceful-close.js';
import { createHttpServer, type HttpServerOptions } from './http-server.js';

/** Express with exact paths and a server that answers even what Node would refuse by itself. */
export class PlantStoreAdapter extends ExpressAdapter {
  private gracefulClose: GracefulClose | undefined;

  /** @param maxConnections beyond as many open connections, the newest is closed at once */
  constructor(
    private readonly serverOptions: HttpServerOptions & CloseTimes,
    private readonly maxConnections: number,
  ) {
    // Before the base class uses the application: its router takes these settings only once.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const acceptFirst = new AcceptFirst(app);
    const server = createHttpServer(acceptFirst.handle, this.serverOptions, expressClasses(app));
    server.maxConnections = this.maxConnections;
    acceptFirst.watch(server);
    this.gracefulClose = new GracefulClose(server, acceptFirst, this.serverOptions);
    this.httpServer = server;
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.gracefulClose?.close();
  }
}

/**
 * Classes for the server of an Express application, whose instances are its requests and responses from the start. Express
 * gives each one another prototype, and V8 then forgets its shape: every access is slow from there on. These have that prototype
 * already, with the same one behind it, so nothing changes for Express.
 */
export function expressClasses(app: Express): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
} {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  app.request = inPlaceOf(app.request, ExpressRequest.prototype);
  app.response = inPlaceOf(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The prototype of a class, with these members and the prototype behind them. */
function inPlaceOf<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
