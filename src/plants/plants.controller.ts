import {
  All,
  applyDecorators,
  type ArgumentsHost,
  Catch,
  Controller,
  HttpCode,
  HttpException,
  type HttpServer,
  HttpStatus,
  Inject,
  Post,
  Req,
  RequestMethod,
  Res,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeEndpoint, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { CHALLENGE } from '../auth/auth.errors.js';
import { RequireScopes } from '../auth/bearer-auth.guard.js';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import { ReadsOwnBody, readsOwnBody } from '../http/body-parser-exemption.js';
import { MethodNotAllowedError } from '../http/http.errors.js';
import { sendJson } from '../http/answer.js';
import { nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse } from '../http/platform.js';
import { notesOf } from '../http/request-notes.js';
import { readJsonObject } from '../http/read-body.js';
import { idempotencyKey, parseNewPlant, PLANT_FIELDS } from './new-plant.js';
import { ApiCreatePlant } from './plants.openapi.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleExtras, type PlantsModuleSettings } from './plants.options.js';
import { PlantsService } from './plants.service.js';

/** A guard of the host need not know the challenge that belongs to a missing credential; if it sets one, that stays. */
@Catch()
class PlantsExceptionFilter extends ApiExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<PlatformResponse>();
    const response = nodeResponse(reply);
    const isRefused = exception instanceof HttpException && exception.getStatus() === 401;
    const hasChallenge = reply.hasHeader('WWW-Authenticate') || response.hasHeader('WWW-Authenticate');
    if (isRefused && !hasChallenge && !response.headersSent) response.setHeader('WWW-Authenticate', CHALLENGE);
    super.catch(exception, host);
  }
}

@UseFilters(PlantsExceptionFilter)
@RequireScopes(CREATE_PLANTS)
export abstract class PlantsController {
  constructor(
    private readonly plants: PlantsService,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
  ) {}

  // The body is read and the answer sent from here, so that no pipe or interceptor of a host can change either.
  async create(request: PlatformRequest, response: PlatformResponse): Promise<void> {
    // Fastify has one route for all methods.
    if (nodeRequest(request).method !== 'POST') throw new MethodNotAllowedError('POST');
    const body = await readJsonObject(request, response, this.settings.bodyLimit, PLANT_FIELDS);
    const key = idempotencyKey(request);
    const newPlant = parseNewPlant(body);
    notesOf(response).plantId = newPlant.id;
    const creator = this.settings.createdBy(request);
    sendJson(response, HttpStatus.OK, await this.plants.create(newPlant, { idempotencyKey: key, creator }));
  }
}

/**
 * A store's route: its extras, and the prototype of its controller. Not the class: a host's `instanceDecorator` may put another
 * function in place of each that an instance has.
 */
export type PlantsRoute = Required<PlantsModuleExtras> & { prototype: object };

/** A controller at the path of one store. */
export function plantsControllerAt(extras: Required<PlantsModuleExtras>): Type<PlantsController> {
  const { path, version, guards, openApi } = extras;
  const { namePrefix = '', securityScheme = 'bearer' } = openApi;

  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...(typeof guards === 'string' ? [] : guards))
  @ApiTags(`${namePrefix}Plants`)
  @applyDecorators(...(securityScheme === false ? [] : [ApiSecurity(securityScheme)]))
  class PlantsControllerAtPath extends PlantsController {
    // Decorators keep what they say of a method at its function: each store needs a function of its own.
    @Post()
    @ReadsOwnBody()
    @HttpCode(HttpStatus.OK)
    @ApiCreatePlant(extras)
    override create(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
      return super.create(request, response);
    }
  }

  // Nest makes ids of operations from the name.
  Object.defineProperty(PlantsControllerAtPath, 'name', { value: `${namePrefix}PlantsController` });
  return PlantsControllerAtPath;
}

/**
 * Refuses every method except POST, behind the same guards. Express takes a second route for all methods. Fastify would not start
 * with it, as it has one route for a path and method.
 */
export function refuseOtherMethods({ prototype }: PlantsRoute, adapter: HttpServer): void {
  const refuse = (): never => {
    throw new MethodNotAllowedError('POST');
  };
  // Anew each time: the class may have been in an application on another platform before.
  Object.defineProperty(prototype, 'refuse', { value: refuse, configurable: true });
  const decorate = applyDecorators(All(), ReadsOwnBody(), ApiExcludeEndpoint());
  if (adapter.getType() === 'fastify') routeOtherMethods(adapter.getInstance() as Fastify);
  else decorate(prototype, 'refuse', { value: refuse });
}

const OTHER_METHODS = Object.keys(RequestMethod).filter((name) => !/^(?:\d+|ALL|POST)$/.test(name));
const prepared = new WeakSet<Fastify>();

/** The part of Fastify in use. */
interface Fastify {
  readonly supportedMethods: readonly string[];
  addHttpMethod(method: string, options: { hasBody: boolean }): unknown;
  addHook(
    name: 'onRoute',
    hook: (route: Record<'method' | 'url' | 'routePath' | 'handler' | 'config' | 'constraints', unknown>) => void,
  ): unknown;
  hasRoute(route: object): boolean;
  route(route: object): unknown;
}

/** Nest makes the route of POST, with its guards, filters and version; the other methods are one more route with the same handler. */
function routeOtherMethods(fastify: Fastify): void {
  if (prepared.has(fastify)) return;
  prepared.add(fastify);
  fastify.addHook('onRoute', ({ method, url, routePath, handler, config, constraints }) => {
    if (method !== 'POST' || !readsOwnBody(config)) return;
    // A route of the host that came first keeps its method, as on Express.
    const free = OTHER_METHODS.filter((other) => !fastify.hasRoute({ method: other, url, constraints }));
    const added = OTHER_METHODS.filter((other) => !fastify.supportedMethods.includes(other));
    for (const other of added) fastify.addHttpMethod(other, { hasBody: true });
    fastify.route({ method: free, url: routePath, handler, config, constraints });
    forgetMethods(fastify, added);
  });
}

/**
 * Restores Fastify's list of methods: the host's routes, and its answers without a route, must not change. Fastify would read the
 * body of each request with a known method, and add the method to every route for all methods. It has no call for this.
 */
function forgetMethods(fastify: object, methods: string[]): void {
  const key = Object.getOwnPropertySymbols(fastify).find(
    ({ description }) => description === 'fastify.acceptedHTTPMethods',
  );
  const known = (fastify as Record<symbol, Record<string, Set<string>>>)[key ?? Symbol.iterator] ?? {};
  for (const method of methods) for (const kind of Object.values(known)) kind.delete(method);
}
