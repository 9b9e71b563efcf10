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
import { AllExceptionsFilter } from '../http/api-exception.filter.js';
import { sendJson } from '../http/send-json.js';
import type { PlatformRequest, PlatformResponse } from '../http/platform.js';
import { requestContext } from '../http/request-context.js';
import { readJsonBody } from '../http/read-json-body.js';
import { idempotencyKey } from './idempotency-key.js';
import { parseNewPlant, PLANT_FIELDS } from './plant.dto.js';
import { ApiCreatePlant } from './plants.openapi.js';
import { PlantsOptions, type PlantsRouteOptions } from './plants.options.js';
import { PlantsService } from './plants.service.js';

/** Makes a controller class for one store. Decorators keep metadata on a class and its methods, so each store has one. */
export function plantsControllerAt(path: string, options: PlantsRouteOptions): Type<object> {
  const { version, guards, errorStatus, securityScheme, schemaPrefix } = options;
  // The options were checked already. A mistake in that check would open the route to everybody.
  if (guards === undefined) throw new TypeError('guards: is missing');

  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...(typeof guards === 'string' ? [] : guards))
  @UseFilters(AllExceptionsFilter)
  @RequireScopes(CREATE_PLANTS)
  @ApiTags('Plants')
  @applyDecorators(...(guards === 'none' ? [] : [ApiSecurity(securityScheme)]))
  class PlantsController {
    constructor(
      private readonly plants: PlantsService,
      private readonly options: PlantsOptions,
    ) {}

    // The handler reads the body and sends the answer itself, so no pipe or interceptor of a host can change them.
    @Post()
    @HttpCode(200)
    @ApiCreatePlant(errorStatus, schemaPrefix)
    async createPlant(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
      const body = await readJsonBody(request, response, this.options.bodyLimit, PLANT_FIELDS);
      const key = idempotencyKey(request);
      const newPlant = parseNewPlant(body);
      requestContext(response).plantId = newPlant.id;
      const creator = this.options.createdBy(request as never);
      sendJson(response, 200, await this.plants.create(newPlant, { idempotencyKey: key, creator }));
    }
  }

  // Ids of operations are made of it. Two stores have two paths, or two versions.
  return Object.defineProperty(PlantsController, 'name', { value: `${wordsOf(path)}Controller` });
}

/** `garden/plants` becomes `GardenPlants`, and `garden-plants` becomes `Garden_plants`. */
function wordsOf(path: string): string {
  const words = path.split('/').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return words.join('').replaceAll(/[^A-Za-z\d]/g, '_');
}
