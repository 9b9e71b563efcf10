import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type RequestHandler } from 'express';
import type { Environment } from '../config/environment.js';
import { pathOf, type ResponseHook } from '../http/request-context.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import { HttpServer } from './http-server.js';

/** Nest and its guests know body parsers by these names. */
const PARSER_NAME = /^(?:json|urlencoded|raw|text)Parser$/;

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
    const http = new HttpServer(app, this.environment, this.hooks);
    app.request = adoptMembers(app.request, http.classes.IncomingMessage.prototype);
    app.response = adoptMembers(app.response, http.classes.ServerResponse.prototype);
    this.shutdown = new GracefulShutdown(http, this.hooks, this.environment);
    this.httpServer = http.server;
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

  /** Body parsers run for every route but that of the plants, which reads its body behind the guard. */
  override use(...handlers: unknown[]): unknown {
    const isParser = handlers.some((handler) => typeof handler === 'function' && PARSER_NAME.test(handler.name));
    // Of what BASE_PATH may have, a pattern gives only the dot a meaning.
    const others = new RegExp(`^(?!${this.environment.BASE_PATH.replaceAll('.', '\\.')}/plants$)`);
    return super.use(...(isParser ? [others, ...handlers] : handlers)) as unknown;
  }
}

/**
 * Gives a class of the server the prototype that Express sets for each request. V8 of Node.js 20 forgets the shape of
 * an object whose prototype changes: 3.3 times the CPU at 64 connections, 1.05 on Node.js 24. It leaves with Node 20.
 */
function adoptMembers<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
