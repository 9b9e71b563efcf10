import type { INestApplication } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { hideMediaType, UNPARSED } from './hidden-media-type.js';
import { isMarked, isMarkedHandler } from './reads-own-body.decorator.js';

/** What is used of Express: the layers of its router, of which some are routes. */
interface Express {
  readonly router: { readonly stack: readonly Layer[] };
  use(middleware: (request: IncomingMessage & { path: string }, response: unknown, next: () => void) => void): unknown;
}

interface Layer {
  readonly name: string;
  readonly route?: { readonly stack: readonly { readonly handle: object }[] };
  match(path: string): boolean;
}

/** What is used of Fastify. */
interface Fastify {
  addHook(name: 'onRequest', hook: (request: FastifyRequest, reply: unknown, done: () => void) => void): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, body: unknown, done: (error: null) => void) => void,
  ): unknown;
}

interface FastifyRequest {
  readonly raw: IncomingMessage;
  readonly routeOptions: { readonly config: object };
}

/**
 * Keeps the application's own body parsers off the route of every `PlantsModule` in it, and off nothing else, so that the store
 * reads the bodies of its requests itself: after the guards, and byte for byte. To be called once, right after
 * `NestFactory.create()`, on Express or Fastify.
 *
 * @throws Error where a parser or the routes are in place already, or the platform is another one
 */
export function exemptPlantsFromBodyParser(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  switch (adapter.getType()) {
    case 'express':
      exemptOnExpress(adapter.getInstance() as Express);
      break;
    case 'fastify':
      exemptOnFastify(adapter.getInstance() as Fastify);
      break;
    default:
      throw new Error(
        `exemptPlantsFromBodyParser() knows Express and Fastify, not "${adapter.getType()}": create the application with \`bodyParser: false\` instead.`,
      );
  }
}

/** Express routes a request only behind its parsers, so the routes are asked here, in front of them. */
function exemptOnExpress(express: Express): void {
  if (
    express.router.stack.some(
      ({ name, route }) => route !== undefined || /^(?:json|urlencoded|raw|text)Parser$/.test(name),
    )
  ) {
    throw new Error(
      'exemptPlantsFromBodyParser() comes too late: call it right after NestFactory.create(), before any body parser and before app.init().',
    );
  }
  let marked: Layer[] = [];
  express.use((request, _response, next) => {
    if (marked.length === 0) {
      marked = express.router.stack.filter(({ route }) => route?.stack.some(({ handle }) => isMarkedHandler(handle)));
    }
    if (marked.some((layer) => layer.match(request.path))) hideMediaType(request);
    next();
  });
}

function exemptOnFastify(fastify: Fastify): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (isMarked(request.routeOptions.config)) hideMediaType(request.raw);
    done();
  });
  fastify.addContentTypeParser(UNPARSED, (_request, _body, done) => {
    done(null);
  });
}
