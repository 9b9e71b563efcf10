import {
  applyDecorators,
  Controller,
  HttpCode,
  HttpStatus,
  Inject,
  Post,
  Req,
  RequestMapping,
  RequestMethod,
  Res,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RequiredScope } from '../auth/bearer-auth.guard.js';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import { ReadsOwnBody } from '../http/body-parser-exemption.js';
import { MethodNotAllowedError } from '../http/http.errors.js';
import { type PlatformRequest, type PlatformResponse, sendJson } from '../http/platform.js';
import { readJsonObject } from '../http/read-body.js';
import { idempotencyKey } from './idempotency-key.js';
import { parseNewPlant, PLANT_FIELDS } from './new-plant.js';
import { describeCreatePlant } from './plants.openapi.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleExtras, type PlantsModuleSettings } from './plants.options.js';
import { PlantsService } from './plants.service.js';

@UseFilters(ApiExceptionFilter)
export abstract class PlantsController {
  constructor(
    private readonly plants: PlantsService,
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: PlantsModuleSettings,
  ) {}

  @Post()
  @RequiredScope(CREATE_PLANTS)
  @ReadsOwnBody()
  @HttpCode(HttpStatus.OK)
  // The body is read and the answer sent from here, so that no pipe or interceptor of a host can change either.
  async create(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    const body = await readJsonObject(request, response, this.settings.bodyLimit, PLANT_FIELDS);
    const key = idempotencyKey(request);
    const plant = await this.plants.create(parseNewPlant(body), {
      idempotencyKey: key,
      creator: this.settings.createdBy(request),
    });
    sendJson(response, HttpStatus.OK, plant);
  }
}

/** A controller at the path of one store. */
export function plantsControllerAt(extras: Required<PlantsModuleExtras>): Type<PlantsController> {
  const { path, version, guards, openApi } = extras;
  const { namePrefix = '', securityScheme = 'bearer' } = openApi;

  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...guards)
  @ApiTags(`${namePrefix}Plants`)
  @applyDecorators(...(securityScheme === false ? [] : [ApiSecurity(securityScheme)]))
  class PlantsControllerAtPath extends PlantsController {
    // Decorators keep what they say of a method at its function: each store needs a function of its own.
    override create(request: PlatformRequest, response: PlatformResponse): Promise<void> {
      return super.create(request, response);
    }
  }

  // Nest makes ids of operations from the name.
  Object.defineProperty(PlantsControllerAtPath, 'name', { value: `${namePrefix}PlantsController` });
  // Nest reads the route from it before it creates the provider that describes it for good.
  describeCreatePlant(PlantsControllerAtPath, extras, 'contract');
  return PlantsControllerAtPath;
}

/** HEAD before GET, with which Fastify would add it by itself, and then not take it any more. */
const OTHER_METHODS = Object.values(RequestMethod)
  .filter((method) => typeof method === 'number' && method !== RequestMethod.POST)
  .reverse();

/** A controller that refuses every method but POST, once `refuseOtherMethods` has given it its routes. */
export function otherMethodsControllerAt({ path, version, guards }: Required<PlantsModuleExtras>): Type {
  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...guards)
  @UseFilters(ApiExceptionFilter)
  @ApiExcludeController()
  class OtherMethodsController {}

  return OtherMethodsController;
}

/**
 * Express takes one route for all methods, behind the one for POST. Fastify would not start with it, as it has one route for a
 * path and method, so there every other method gets its own.
 */
export function refuseOtherMethods(controller: Type, platform: string): void {
  const prototype = controller.prototype as object;
  for (const method of OTHER_METHODS) {
    const name = `refuse${RequestMethod[method]}`;
    // Anew each time: the class may have been in an application on another platform before.
    const descriptor = { value: refuse(), configurable: true };
    Object.defineProperty(prototype, name, descriptor);
    if ((method === RequestMethod.ALL) === (platform === 'fastify')) continue;
    for (const decorate of [RequestMapping({ method }), ReadsOwnBody()]) decorate(prototype, name, descriptor);
  }
}

function refuse(): () => never {
  return () => {
    throw new MethodNotAllowedError('POST');
  };
}
