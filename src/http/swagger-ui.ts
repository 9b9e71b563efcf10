import { HttpStatus, type INestApplication } from '@nestjs/common';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import { ERRORS_PAGE } from './openapi.js';
import { discardBody } from './body-bytes.js';
import { plantStorePlugin } from './swagger-ui-plugin.js';

const PAGE = '/docs';
const DOCUMENT = '/openapi.json';
/** Some queries stop Swagger UI before it takes a token out of the address. A browser that is sent on keeps the fragment. */
const WITH_QUERY = new RegExp(`^${PAGE}(/?)\\?`);

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
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
};

/** The page is for the operation: what is above it and the text field in it take only the room that they need. */
const STYLE = `
  .swagger-ui .info { margin: 20px 0 }
  .swagger-ui .info summary, .swagger-ui .info__extdocs { font-size: 14px; cursor: pointer }
  .swagger-ui .info table tbody tr td:nth-child(n) { padding: 1px 10px 1px 0; overflow-wrap: anywhere }
  .swagger-ui .info table code { white-space: normal; overflow-wrap: anywhere }
  .swagger-ui .scheme-container:nth-child(n) { padding: 10px 0 }
  .swagger-ui .without-token { display: flex; align-items: center; gap: 20px }
  .swagger-ui .without-token p { margin: 0; font-size: 14px }
  .swagger-ui .response-col_links { display: none }
  @media (max-width: 600px) { .swagger-ui .without-token { flex-direction: column; align-items: stretch; gap: 10px } }
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
  const adapter = app.getHttpAdapter();
  app.use([PAGE, DOCUMENT], (request: Request, response: Response, next: () => void) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    discardBody(request);
    const [, slash] = WITH_QUERY.exec(request.originalUrl) ?? [];
    if (slash === undefined) next();
    else adapter.redirect(response, HttpStatus.FOUND, slash ? './' : `.${PAGE}`);
  });
  // Nest would serve a page there that looks for its parts in the wrong folder.
  adapter.get(`${PAGE}/index.html`, (_request: IncomingMessage, response: ServerResponse) => {
    adapter.redirect(response, HttpStatus.FOUND, './');
  });
  adapter.get(ERRORS_PAGE, (_request: Request, response: Response) => response.type('html').send(errorsPage()));
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
      plugins: [plantStorePlugin],
    },
  });
}

/** The catalogue of errors, as a page to link to. */
function errorsPage(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(([error, { meaning, retry, client }]) => {
    const cells = [error, meaning, retry, client].map(
      (text) => `<td>${text.replace(/`([^`]+)`/g, '<code>$1</code>')}</td>`,
    );
    return `<tr id="${error}">${cells.join('')}</tr>`;
  });
  return `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Plant Store: errors</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="${PAGE}/favicon-32x32.png">
<style>
  body { font: 15px/1.5 sans-serif; color: #3b4151; max-width: 60em; margin: 2em auto; padding: 0 1em }
  td, th { overflow-wrap: anywhere; text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid #d8dde7 }
</style>
<h1>Errors of the Plant Store</h1>
<p>The body of every failure is <code>{"error": number, "message": text}</code>. The message says what was wrong and what would be right.
The first three digits of the number are the status that plain HTTP would have used.</p>
<table><tr><th>error</th><th>meaning</th><th>Retryable?</th><th>The client …</th></tr>
${rows.join('\n')}
</table><p><a href="${PAGE}">API documentation</a></p></html>
`;
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
