import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import { expressClasses } from '../express-classes.js';
import { GracefulClose } from './connection-close.js';
import { createHttpServer, type HttpServerOptions } from './http-server.js';

export interface PlantStoreAdapterOptions extends HttpServerOptions {
  /** Milliseconds to wait at the end for the answers to requests under way: longer than any good one takes. */
  closeTimeout: number;
}

/** Express with exact paths and a server that answers even what Node would refuse by itself. */
export class PlantStoreAdapter extends ExpressAdapter {
  private gracefulClose: GracefulClose | undefined;

  constructor(private readonly serverOptions: PlantStoreAdapterOptions) {
    // Before the base class uses the application: its router takes these settings over only once.
    super(express().enable('case sensitive routing').enable('strict routing').disable('x-powered-by').disable('etag'));
  }

  override initHttpServer(): void {
    const app = this.getInstance<express.Express>();
    const server = createHttpServer(app, this.serverOptions, expressClasses(app));
    this.gracefulClose = new GracefulClose(server, this.serverOptions.closeTimeout);
    this.httpServer = server;
  }

  override async close(): Promise<void> {
    this.beforeClose();
    await this.gracefulClose?.close();
  }
}
