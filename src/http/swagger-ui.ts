import { HttpStatus, type INestApplication } from '@nestjs/common';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { IncomingMessage, ServerResponse } from 'node:http';

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

/** Serves Swagger UI at `/docs` and the document at `/openapi.json`, both without a credential: a browser must open them. */
export function serveSwaggerUi(app: INestApplication, document: OpenAPIObject): void {
  app.use([PAGE, DOCUMENT], (_request: IncomingMessage, response: ServerResponse, next: () => void) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    next();
  });
  // Nest would serve a page there that looks for its parts in the wrong folder.
  const adapter = app.getHttpAdapter();
  adapter.get(`${PAGE}/index.html`, (_request: IncomingMessage, response: ServerResponse) => {
    adapter.redirect(response, HttpStatus.FOUND, './');
  });
  SwaggerModule.setup(PAGE, app, document, {
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
