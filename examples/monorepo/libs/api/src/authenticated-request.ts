import type { IncomingHttpHeaders } from 'node:http';

/** What a request of Express and one of Fastify have in common, behind the JwtAuthGuard. */
export interface AuthenticatedRequest {
  headers: IncomingHttpHeaders;
  user: { name: string };
}
