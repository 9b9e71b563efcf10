import { HttpStatus, type INestApplication } from '@nestjs/common';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { discardBody } from './server/connection-close.js';

const PAGE = '/docs';
const DOCUMENT = '/openapi.json';

/** A user types a token into this page: it runs no script but its own, and connects to the store alone. */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
};

/** The page is for the operation: the catalogue above it and the text field in it take only the room that they need. */
const STYLE = `
  .swagger-ui .info table tbody tr td:nth-child(n) { padding: 1px 10px 1px 0 }
  .swagger-ui .opblock-body .body-param__text:nth-child(n) { min-height: 120px }
`;

/** What the page names, of all that its package has. */
const FILES = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
  'favicon-16x16.png',
];

/** Serves Swagger UI at `/docs` and the document at `/openapi.json`, both without a credential: a browser must open them. */
export function serveSwaggerUi(app: INestApplication, document: OpenAPIObject): void {
  app.use([PAGE, DOCUMENT], (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    discardBody(request, response);
    next();
  });
  // Nest would serve a page there that looks for its parts in the wrong folder.
  const adapter = app.getHttpAdapter();
  adapter.get(`${PAGE}/index.html`, (_request: IncomingMessage, response: ServerResponse) => {
    adapter.redirect(response, HttpStatus.FOUND, './');
  });
  // In place of the files themselves: each request would open one.
  const useStaticAssets = (folder: string): void => {
    for (const name of FILES) adapter.get(`${PAGE}/${name}`, serveFromMemory(readFileSync(join(folder, name)), name));
  };
  const setup = Object.create(app, { useStaticAssets: { value: useStaticAssets } }) as INestApplication;
  SwaggerModule.setup(PAGE, setup, document, {
    jsonDocumentUrl: DOCUMENT,
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    customCss: STYLE,
    swaggerOptions: {
      // Without the top bar, which switches between documents, and the badge of a validator on another site.
      layout: 'BaseLayout',
      validatorUrl: null,
      docExpansion: 'full',
    },
  });
}

function serveFromMemory(bytes: Buffer, name: string): (request: Request, response: Response) => Promise<void> {
  const etag = `W/"${createHash('sha256').update(bytes).digest('base64url')}"`;
  let compressed: Promise<Buffer> | undefined;
  return async (request, response) => {
    response.type(name).set({ ETag: etag, Vary: 'Accept-Encoding' });
    if (!request.acceptsEncodings('gzip')) {
      response.send(bytes);
      return;
    }
    const body = await (compressed ??= promisify(gzip)(bytes));
    response.set('Content-Encoding', 'gzip').send(body);
  };
}
