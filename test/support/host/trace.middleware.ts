import type { NestMiddleware } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';

export class TraceMiddleware implements NestMiddleware {
  use({ method, headers }: IncomingMessage, response: ServerResponse, next: () => void): void {
    response.setHeader('X-Trace', `${method ?? ''} ${headers['content-type'] ?? 'nothing'}`);
    next();
  }
}
