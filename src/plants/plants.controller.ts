import {
  applyDecorators,
  Controller,
  HttpCode,
  Post,
  Req,
  Res,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiSecurity, ApiTags } from '@nestjs/swagger';
import { CREATE_PLANTS, RequireScopes } from '../auth/scopes.js';
import { invalidIdempotencyKey } from '../errors/api-error.js';
import { AllExceptionsFilter } from '../http/api-exception.filter.js';
import { readJsonBody } from '../http/read-json-body.js';
import {
  headerValues,
  nodeRequest,
  type PlatformRequest,
  type PlatformResponse,
  requestContext,
} from '../http/request-context.js';
import { sendJson } from '../http/send-json.js';
import { newPlantOf, PLANT_FIELDS } from './plant.dto.js';
import { ApiCreatePlant } from './plants.openapi.js';
import { type RouteOptions, StoreOptions } from './plants.options.js';
import { PlantsService } from './plants.service.js';

/** What every store does for `POST /plants`. */
@UseFilters(AllExceptionsFilter)
@RequireScopes(CREATE_PLANTS)
@ApiTags('Plants')
export class PlantsController {
  constructor(
    private readonly plants: PlantsService,
    private readonly options: StoreOptions,
  ) {}

  // It reads the body and sends the answer itself: a host's pipes and interceptors would change what is promised.
  async create(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    const newPlant = newPlantOf(await readJsonBody(request, response, this.options.bodyLimit, PLANT_FIELDS));
    const context = requestContext(response);
    // For metrics and logs. The service checks the plant.
    if (typeof newPlant.id === 'bigint') context.plantId = newPlant.id;
    const [idempotencyKey, ...others] = headerValues(nodeRequest(request), 'idempotency-key');
    if (others.length > 0) throw invalidIdempotencyKey('is repeated');
    const { createdBy } = this.options;
    const creator = createdBy ? createdBy(request as never) : context.principal;
    sendJson(response, 200, await this.plants.create(newPlant, { idempotencyKey, creator }));
  }
}

/**
 * The controller of one store. A host may have several, each with a path, guards and a document of its own, and Nest
 * keeps such metadata on a class and its methods. `RouterModule` sets one path for all uses of a module's class.
 */
export function controllerAt(path: string, options: RouteOptions): Type<PlantsController> {
  const { version, guards, errorStatus, securityScheme, schemaPrefix } = options;

  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...(typeof guards === 'string' ? [] : guards))
  @applyDecorators(...(guards === 'none' ? [] : [ApiSecurity(securityScheme)]))
  class MountedController extends PlantsController {
    @Post()
    @HttpCode(200)
    @ApiCreatePlant(errorStatus, schemaPrefix)
    override create(request: PlatformRequest, response: PlatformResponse): Promise<void> {
      return super.create(request, response);
    }
  }

  // Ids of operations are made of it. Two stores have two paths, or two versions.
  return Object.defineProperty(MountedController, 'name', { value: `${wordsOf(path)}Controller` });
}

/** `garden/plants` becomes `GardenPlants`, and `garden-plants` becomes `Garden_plants`. */
function wordsOf(path: string): string {
  const words = path.split('/').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('').replaceAll(/[^A-Za-z\d]/g, '_');
}
