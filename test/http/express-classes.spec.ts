import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expressClasses } from '../../src/service/http/express-adapter.js';
import { RawConnection, type RawResponse } from '../support/http/raw-connection.js';

/** An application that uses what Express gives to requests and responses. */
function application(): Express {
  const app = express();
  // In development the answers to failures hold stacks, and these the names of classes.
  app.set('env', 'production').set('trust proxy', true);
  app.get('/request', (request, response) => {
    const { ip, ips, protocol, secure, hostname, subdomains, path, query, originalUrl, baseUrl, xhr, fresh, stale } =
      request;
    const values = {
      ip,
      ips,
      protocol,
      secure,
      hostname,
      subdomains,
      path,
      query,
      originalUrl,
      baseUrl,
      xhr,
      fresh,
      stale,
    };
    const asked = [request.get('X-Any'), request.accepts('json'), request.acceptsLanguages('de'), request.is('json')];
    response.json({ ...values, asked, own: Object.keys(request).sort(), app: request.app === app });
  });
  app.get('/response', (_request, response) => {
    response.locals.any = 1;
    response.cookie('a', 'b', { httpOnly: true }).append('X-Any', ['1', '2']).vary('Accept').links({ next: '/next' });
    response
      .status(201)
      .type('text')
      .send(`${Object.keys(response).sort().join()} ${String(response.app === app)}`);
  });
  app.get('/redirect', (_request, response) => {
    response.redirect(301, '/elsewhere?ä');
  });
  app.get('/file', (_request, response) => {
    response.sendFile(fileURLToPath(new URL('../../LICENSE', import.meta.url)));
  });
  app.get('/format', (_request, response) => {
    response.format({ html: () => response.send('<p>'), json: () => response.json({}) });
  });
  app.get('/extended', (request, response) => {
    response.send(
      `${(request as Request & { added?: string }).added} ${Object.getPrototypeOf(request) === app.request}`,
    );
  });
  app.post('/body', express.json({ limit: 100 }), (request, response) => {
    response.jsonp(request.body);
  });
  app.get('/fails', () => {
    throw Object.assign(new Error('as it is meant to'), { status: 418, expose: true, stack: undefined });
  });
  const mounted = express().get('/x', (request, response) => {
    response.json({
      baseUrl: request.baseUrl,
      app: request.app !== app,
      same: Object.getPrototypeOf(request) === app.request,
    });
  });
  app.use('/mounted', mounted);
  app.use((request: Request, response: Response, next: NextFunction) => {
    response.set('X-Behind', String(Object.getPrototypeOf(request) === app.request));
    next();
  });
  return app;
}

const REQUESTS = [
  'GET /request?a=1&b[c]=2 HTTP/1.1\r\nHost: a.b.example:80\r\nX-Any: x\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8\r\nX-Forwarded-Proto: https\r\n',
  'GET /request HTTP/1.0\r\nAccept: text/html\r\nX-Requested-With: XMLHttpRequest\r\n',
  'GET /response HTTP/1.1\r\nHost: a\r\n',
  'HEAD /response HTTP/1.1\r\nHost: a\r\n',
  'GET /redirect HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n',
  'GET /file HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n',
  'GET /file HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n',
  'GET /format HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n',
  'GET /format HTTP/1.1\r\nHost: a\r\nAccept: image/png\r\n',
  'GET /extended HTTP/1.1\r\nHost: a\r\n',
  'POST /body?callback=f HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
  'POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{"a',
  `POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 101\r\n\r\n${' '.repeat(101)}`,
  'GET /fails HTTP/1.1\r\nHost: a\r\n',
  'GET /mounted/x HTTP/1.1\r\nHost: a\r\n',
  'GET /mounted/y HTTP/1.1\r\nHost: a\r\n',
  'OPTIONS /body HTTP/1.1\r\nHost: a\r\n',
  'PURGE /unknown HTTP/1.1\r\nHost: a\r\n',
  'GET /%zz HTTP/1.1\r\nHost: a\r\n',
];

describe(expressClasses.name, () => {
  const servers: Server[] = [];

  beforeAll(async () => {
    // Express prints the failures that it answers.
    jest.spyOn(console, 'error').mockReturnValue(undefined);
    const [plain, own] = [application(), application()];
    servers.push(createServer(plain), createServer(expressClasses(own, []), own));
    // Behind the classes, as an application's own code does it.
    for (const app of [plain, own]) Object.assign(app.request, { added: 'by the application' });
    for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    jest.restoreAllMocks();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function answerOf(server: Server | undefined, request: string): Promise<RawResponse | undefined> {
    using connection = await RawConnection.open((server?.address() as AddressInfo).port);
    connection.send(request.includes('\r\n\r\n') ? request : `${request}\r\n`);
    const response = await connection.response({ head: request.startsWith('HEAD') });
    delete response?.headers.date;
    return response;
  }

  it.each(REQUESTS)('should change nothing that Express does with %j', async (request) => {
    const [plain, own] = await Promise.all(servers.map((server) => answerOf(server, request)));
    expect(plain).toMatchObject({ status: expect.any(Number) as unknown });
    expect(own).toEqual(plain);
  });

  it('should leave Express no prototype to exchange', async () => {
    const [, server] = servers;
    const kept: boolean[] = [];
    server?.prependOnceListener('request', (request, response) => {
      const prototypes = [Object.getPrototypeOf(request), Object.getPrototypeOf(response)] as object[];
      response.once('finish', () => {
        kept.push(Object.getPrototypeOf(request) === prototypes[0], Object.getPrototypeOf(response) === prototypes[1]);
      });
    });
    expect(await answerOf(server, 'GET /extended HTTP/1.1\r\nHost: a\r\n')).toMatchObject({
      body: 'by the application true',
    });
    expect(kept).toEqual([true, true]);
  });
});
