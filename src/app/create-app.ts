import type { CorsOptions, CorsOptionsDelegate } from '@nestjs/common/interfaces/external/cors-options.interface.js';
import type { IncomingMessage } from 'node:http';

/** Lets pages of these origins call the service. An OPTIONS request that is no preflight stays a method like any other. */
export function corsFor(origins: string[]): CorsOptionsDelegate<IncomingMessage> {
  const options: CorsOptions = {
    origin: origins,
    methods: ['POST'],
    allowedHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Request-Id'],
    exposedHeaders: [
      'Allow',
      'RateLimit-Limit',
      'RateLimit-Policy',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ],
    maxAge: 600,
  };
  return (request, callback) => {
    const preflight = request.headers['access-control-request-method'] !== undefined;
    callback(null, { ...options, preflightContinue: !preflight });
  };
}
