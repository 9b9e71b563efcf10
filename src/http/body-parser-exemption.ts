import { type CustomDecorator, type INestApplication, SetMetadata } from '@nestjs/common';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Keeps the application's own body parsers off the route of every `PlantsModule` in it, and off nothing else. The store then reads the
 * bodies of its requests itself: after the guards, and byte for byte, so that ids are exact over all of int64. Call it right after
 * `NestFactory.create()`, on Express or Fastify; in a test before `app.init()`. {@link PlantsModule} has an example.
 * On Express, a `POST` route of the application's that takes the same path, for example in another version, gets no body from them either.
 *
 * @throws Error if it comes too late, after a parser or the routes
 */
export function exemptPlantsFromBodyParser(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'fastify') exemptOnFastify(adapter.getInstance() as FastifyInstance);
  else exemptOnExpress(adapter.getInstance() as Express);
}

/** The key of `@RouteConfig()` of `@nestjs/platform-fastify`: by its name, so that a host on Express does not need that package. */
const ROUTE_CONFIG = '__fastify_route_config__';

/** Marks a route that reads its body from the raw stream, if the application's own parser leaves it alone. */
export function ReadsOwnBody(): CustomDecorator {
  return SetMetadata(ROUTE_CONFIG, { readsOwnBody: true });
}

function readsOwnBody(config: unknown): boolean {
  return (Object(config) as { readsOwnBody?: boolean }).readsOwnBody === true;
}

const TOO_LATE =
  'exemptPlantsFromBodyParser() comes too late: call it right after NestFactory.create(), before any body parser and before app.init() or app.listen().';

/** A layer of Express' router, with what its types leave out. */
type Layer = Express['router']['stack'][number] & { match(path: string): boolean };

/** Express finds the route only after its parsers, so the routes are asked here, before them. */
function exemptOnExpress(express: Express): void {
  const layers = express.router.stack as Layer[];
  if (layers.some(({ name, route }) => route ?? /^(?:json|urlencoded|raw|text)Parser$/.test(name)))
    throw new Error(TOO_LATE);
  // Nest copies the metadata of a route to the function that it gives to the router.
  const isMarked = ({ route }: Layer): boolean =>
    route?.stack.some(({ handle }) => readsOwnBody(Reflect.getMetadata(ROUTE_CONFIG, handle))) ?? false;
  let routes: Layer[] | undefined;
  express.use((request, _response, next) => {
    // The first request comes after all routes.
    routes ??= layers.filter(isMarked);
    if (request.method === 'POST' && routes.some((route) => route.match(request.path))) hideContentType(request);
    next();
  });
}

function exemptOnFastify(fastify: FastifyInstance): void {
  if (fastify.hasContentTypeParser(UNPARSED)) return;
  try {
    fastify.addHook('onRequest', (request, _reply, done) => {
      if (readsOwnBody(request.routeOptions.config)) hideContentType(request.raw);
      done();
    });
  } catch (cause) {
    throw new Error(TOO_LATE, { cause });
  }
  fastify.addContentTypeParser(UNPARSED, (_request, _body, done) => {
    done(null);
  });
}

/** Parsers go by the media type. No parser takes this one, unless it takes every one, and no client can know it. */
const UNPARSED = `application/vnd.plant-store.${randomUUID()}`;
const hidden = new WeakMap<IncomingMessage, string | undefined>();

function hideContentType(request: IncomingMessage): void {
  if (hidden.has(request)) return;
  hidden.set(request, request.headers['content-type']);
  request.headers['content-type'] = UNPARSED;
}

/** Gives a request the media type that its client sent. */
export function restoreContentType(request: IncomingMessage): void {
  if (hidden.has(request)) request.headers['content-type'] = hidden.get(request);
}
