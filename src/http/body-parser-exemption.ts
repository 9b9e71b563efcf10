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
 * @throws Error if it comes too late, after a parser or the routes, or on another platform
 */
export function exemptPlantsFromBodyParser(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  switch (adapter.getType()) {
    case 'express':
      exemptOnExpress(adapter.getInstance() as Express);
      break;
    case 'fastify':
      exemptOnFastify(adapter.getInstance() as FastifyInstance);
      break;
    default:
      throw new Error(
        `exemptPlantsFromBodyParser() knows Express and Fastify, not "${adapter.getType()}": create the application with \`bodyParser: false\` instead.`,
      );
  }
}

/** A media type that no parser takes, except one that takes every media type, and that no client can know. */
const UNPARSED = `application/vnd.plant-store.${randomUUID()}`;
const hidden = new WeakMap<IncomingMessage, string | undefined>();

/** Keeps every parser off a request's body, as parsers go by the media type. */
function hideMediaType(request: IncomingMessage): void {
  if (hidden.has(request)) return;
  hidden.set(request, request.headers['content-type']);
  request.headers['content-type'] = UNPARSED;
}

/** Gives a request its media type back, if it was hidden. */
export function revealMediaType(request: IncomingMessage): void {
  if (!hidden.has(request)) return;
  const type = hidden.get(request);
  if (type === undefined) delete request.headers['content-type'];
  else request.headers['content-type'] = type;
  hidden.delete(request);
}

/** The key of `@RouteConfig()` of `@nestjs/platform-fastify`: by its name, so that a host on Express does not need that package. */
const ROUTE_CONFIG = '__fastify_route_config__';
/** Marks a route that reads its body from the raw stream, if the application's own parser leaves it alone. */
export function ReadsOwnBody(): CustomDecorator {
  return SetMetadata(ROUTE_CONFIG, { readsOwnBody: true });
}

/** Whether the route with this metadata is so marked. */
function readsOwnBody(config: unknown): boolean {
  return (Object(config) as { readsOwnBody?: boolean }).readsOwnBody === true;
}

/** Nest copies a route's metadata to the function that it gives to the router. */
function isMarkedHandler(handler: object): boolean {
  return readsOwnBody(Reflect.getMetadata(ROUTE_CONFIG, handler));
}

const TOO_LATE =
  'exemptPlantsFromBodyParser() comes too late: call it right after NestFactory.create(), before any body parser and before app.init() or app.listen().';

/** A layer of Express' router, with what its types leave out. */
type Layer = Express['router']['stack'][number] & { match(path: string): boolean };

/** Express finds the route only after its parsers, so the routes are asked here, before them. */
function exemptOnExpress(express: Express): void {
  const layers = (): Layer[] => express.router.stack as Layer[];
  const isParserOrRoute = ({ name, route }: Layer): boolean =>
    route !== undefined || /^(?:json|urlencoded|raw|text)Parser$/.test(name);
  if (layers().some(isParserOrRoute)) throw new Error(TOO_LATE);
  let marked: Layer[] | undefined;
  express.use((request, _response, next) => {
    // The first request comes after all routes.
    marked ??= layers().filter(({ route }) => route?.stack.some(({ handle }) => isMarkedHandler(handle)));
    if (request.method === 'POST' && marked.some((layer) => layer.match(request.path))) hideMediaType(request);
    next();
  });
}

function exemptOnFastify(fastify: FastifyInstance): void {
  if (fastify.hasContentTypeParser(UNPARSED)) return;
  try {
    fastify.addHook('onRequest', (request, _reply, done) => {
      if (readsOwnBody(request.routeOptions.config)) hideMediaType(request.raw);
      done();
    });
  } catch (cause) {
    throw new Error(TOO_LATE, { cause });
  }
  fastify.addContentTypeParser(UNPARSED, (_request, _body, done) => {
    done(null);
  });
}
