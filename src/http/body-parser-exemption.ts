import { type CustomDecorator, type INestApplication, SetMetadata } from '@nestjs/common';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Keeps the body parsers of the application off the routes of the store. The store then reads these bodies itself,
 * after the guards and byte for byte, so ids are exact. Call it right after `NestFactory.create()`, on Express or
 * Fastify, and in a test before `app.init()`. {@link PlantsModule} has an example. On Express, the parsers also skip a
 * `POST` route of the application with the same path, such as one of another version.
 *
 * @throws Error if a parser or the routes were added before
 */
export function exemptPlantsFromBodyParser(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'fastify') exemptOnFastify(adapter.getInstance() as FastifyInstance);
  else exemptOnExpress(adapter.getInstance() as Express);
}

/** The metadata key of `@RouteConfig()`. A host on Express does not have that package, so it is not imported. */
const ROUTE_CONFIG = '__fastify_route_config__';

/** Marks a route whose handler reads the raw body. */
export function ReadsOwnBody(): CustomDecorator {
  return SetMetadata(ROUTE_CONFIG, { readsOwnBody: true });
}

function readsOwnBody(config: unknown): boolean {
  return (Object(config) as { readsOwnBody?: boolean }).readsOwnBody === true;
}

const TOO_LATE =
  'exemptPlantsFromBodyParser() comes too late: call it right after NestFactory.create(), before any body parser and before app.init() or app.listen().';

/** A layer of the router of Express. The types of Express leave `match` out. */
type Layer = Express['router']['stack'][number] & { match(path: string): boolean };

/** Express runs the parsers before it looks for the route. So this middleware looks for the route first. */
function exemptOnExpress(express: Express): void {
  const layers = express.router.stack as Layer[];
  if (layers.some(({ name, route }) => route ?? /^(?:json|urlencoded|raw|text)Parser$/.test(name)))
    throw new Error(TOO_LATE);
  // Nest copies the metadata of the handler to the function that it gives to the router.
  const isMarked = ({ route }: Layer): boolean =>
    route?.stack.some(({ handle }) => readsOwnBody(Reflect.getMetadata(ROUTE_CONFIG, handle))) ?? false;
  let routes: Layer[] | undefined;
  express.use((request, _response, next) => {
    // All routes are there when the first request comes.
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

/** Parsers choose bodies by this type. It is random, so no client knows it and only a catch-all parser takes it. */
const UNPARSED = `application/vnd.plant-store.${randomUUID()}`;
const hidden = new WeakMap<IncomingMessage, string | undefined>();

function hideContentType(request: IncomingMessage): void {
  if (hidden.has(request)) return;
  hidden.set(request, request.headers['content-type']);
  request.headers['content-type'] = UNPARSED;
}

/** Restores the media type that the client sent. */
export function restoreContentType(request: IncomingMessage): void {
  if (hidden.has(request)) request.headers['content-type'] = hidden.get(request);
}
