import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import { REQUEST_ID_HEADER, requestIdOf } from '../http/request-context.js';

const PAGE = '/docs';
const DOCUMENT = '/openapi.json';

/** A user types a token into this page. So it loads from the store alone, and no other site can frame it. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache',
};

/** Serves Swagger UI and the document. Both need no credential, because a browser must open them. */
export function serveSwaggerUi(app: NestExpressApplication, document: OpenAPIObject): void {
  app.use([PAGE, DOCUMENT], (_request: Request, response: Response, next: NextFunction) => {
    response.set({ ...HEADERS, [REQUEST_ID_HEADER]: requestIdOf(response) });
    // Without a socket, other answers are before it. If the connection is lost then, Express never closes the file.
    if (response.socket !== null) next();
    else
      response.once('socket', () => {
        next();
      });
  });
  // From these paths, Swagger UI would look for the store in the wrong folder. A redirected browser keeps the fragment.
  const express = app.getHttpAdapter().getInstance();
  express.get([`${PAGE}/`, `${PAGE}/index.html`], (_request, response) => {
    response.redirect(302, `..${PAGE}`);
  });
  SwaggerModule.setup(PAGE, app, document, {
    jsonDocumentUrl: DOCUMENT,
    raw: ['json'],
    customSiteTitle: 'Plant Store',
    swaggerOptions: {
      // This removes the top bar and the badge of a validator on another site.
      layout: 'BaseLayout',
      validatorUrl: null,
      deepLinking: false,
      docExpansion: 'full',
      onComplete: takeToken,
    },
  });
}

// Names of the browser. The DOM library of TypeScript would declare them for the whole service.
declare const history: { replaceState: (state: null, title: string, url: string) => void };
declare const location: { hash: string; pathname: string };
declare const ui: { preauthorizeApiKey: (scheme: string, token: string) => void };

/** Runs in the browser. Nest writes its source into the page, so it can use nothing from outside. */
function takeToken(): void {
  const [, token] = /^#token=(.+)/.exec(location.hash) ?? [];
  if (token === undefined) return;
  history.replaceState(null, '', location.pathname);
  ui.preauthorizeApiKey('bearerAuth', token);
}
