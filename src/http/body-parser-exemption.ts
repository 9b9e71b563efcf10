import { type CustomDecorator, type INestApplication, SetMetadata } from '@nestjs/common';
import type { Express, Request } from 'express';
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Keeps the application's own body parsers off the route of every `PlantsModule` in it, and off nothing else. The store then reads the
 * bodies of its requests itself: after the guards, and byte for byte, so that ids are exact over all of int64. Call it right after
 * `NestFactory.create()`, on Express or Fastify; in a test before `app.init()`. {@link PlantsModule} has an example.
 *
 * On Express, a request that a route of the application's may take stays with its parsers: a route of the same path and method in another
 * version, or one that is registered first.
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
/** The key of Nest's own decorators of methods, such as `@Post()`. */
const ROUTE_PATH = 'path';

/** Marks a route that reads its body from the raw stream, if the application's own parser leaves it alone. */
export function ReadsOwnBody(): CustomDecorator {
  return SetMetadata(ROUTE_CONFIG, { readsOwnBody: true });
}

/** Whether the route with this metadata is so marked. */
export function readsOwnBody(config: unknown): boolean {
  return (Object(config) as { readsOwnBody?: boolean }).readsOwnBody === true;
}

/** Nest copies a route's metadata to the function that it gives to the router. */
function isMarkedHandler(handler: object): boolean {
  return readsOwnBody(Reflect.getMetadata(ROUTE_CONFIG, handler));
}

/** Whether the function is a route without the mark, and not, for example, a middleware. */
function isUnmarkedRoute(handler: object): boolean {
  return Reflect.hasMetadata(ROUTE_PATH, handler) && !isMarkedHandler(handler);
}

const TOO_LATE =
  'exemptPlantsFromBodyParser() comes too late: call it right after NestFactory.create(), before any body parser and before app.init() or app.listen().';

/** A layer of Express' router, with what its types leave out. */
type Layer = Express['router']['stack'][number] & {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
};

/** Express finds the route only after its parsers, so the routes are asked here, before them. */
function exemptOnExpress(express: Express): void {
  const layers = (): Layer[] => express.router.stack as Layer[];
  const isParserOrRoute = ({ name, route }: Layer): boolean =>
    route !== undefined || /^(?:json|urlencoded|raw|text)Parser$/.test(name);
  if (layers().some(isParserOrRoute)) throw new Error(TOO_LATE);
  let marked: Layer[] = [];
  let rivals: Layer[] = [];
  express.use((request, _response, next) => {
    if (marked.length === 0) {
      marked = layers().filter((layer) => isHandledBy(layer, isMarkedHandler));
      rivals = rivalsOf(marked, layers());
    }
    if (marked.some((layer) => matches(layer, request)) && !rivals.some((layer) => matches(layer, request))) {
      hideMediaType(request);
    }
    next();
  });
}

/**
 * Routes of the application's own that may take a request from a marked one: they come first, or are the same path in another
 * version, which only Nest can distinguish. What they may take stays with the parsers.
 */
function rivalsOf(marked: Layer[], stack: Layer[]): Layer[] {
  const last = stack.findLastIndex((layer) => marked.includes(layer));
  const paths = marked.map(({ route }) => route?.path);
  return stack.filter(
    (layer, index) => isHandledBy(layer, isUnmarkedRoute) && (index < last || paths.includes(layer.route?.path)),
  );
}

function isHandledBy({ route }: Layer, are: (handler: object) => boolean): boolean {
  return route?.stack.some(({ handle }) => are(handle)) ?? false;
}

function matches(layer: Layer, { method, path }: Request): boolean {
  const methods = layer.route?.methods ?? {};
  return (methods._all ?? methods[method.toLowerCase()] ?? false) && layer.match(path);
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
