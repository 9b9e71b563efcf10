import {
  applyDecorators,
  Controller,
  HttpCode,
  HttpStatus,
  Inject,
  Post,
  Req,
  Res,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ApiSecurity, ApiTags } from '@nestjs/swagger';
import { RequiredScope } from '../auth/bearer-auth.guard.js';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import { ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { ExactBody } from '../http/exact-body.decorator.js';
import { type PlatformRequest, type PlatformResponse, sendJson } from '../http/platform.js';
import { ReadsOwnBody } from '../http/reads-own-body.decorator.js';
import { describeCreatePlant } from './describe-create-plant.js';
import type { NewPlant } from './dto/new-plant.dto.js';
import { NewPlantPipe } from './dto/new-plant.pipe.js';
import { IdempotencyKey } from './idempotency-key.decorator.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants-module-settings.js';
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
  async create(
    // Not the class itself: of a class that is imported as a type, tsc tells Nest `Function`, which a ValidationPipe of a host
    // takes for a class to validate.
    @ExactBody(NewPlantPipe) newPlant: Readonly<NewPlant>,
    @IdempotencyKey() idempotencyKey: string | undefined,
    @Req() request: PlatformRequest,
    // Sent from here, so that no interceptor of a host gives the answer another form.
    @Res() response: PlatformResponse,
  ): Promise<void> {
    sendJson(
      response,
      HttpStatus.OK,
      await this.plants.create(newPlant, idempotencyKey, this.settings.createdBy(request)),
    );
  }
}

/** The controller at a path of its own: each store in an application has another one. */
export function plantsControllerAt(extras: Required<PlantsModuleExtras>): Type<PlantsController> {
  const { path, version, guards, openApi } = extras;
  const { namePrefix = '', securityScheme = 'bearer' } = openApi;

  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...guards)
  @ApiTags(`${namePrefix}Plants`)
  @applyDecorators(...(securityScheme === false ? [] : [ApiSecurity(securityScheme)]))
  class PlantsControllerAtPath extends PlantsController {
    // What decorators say of a method they write to its function: each store needs one of its own.
    override create(...request: Parameters<PlantsController['create']>): Promise<void> {
      return super.create(...request);
    }
  }

  // Nest makes ids of operations from the name.
  Object.defineProperty(PlantsControllerAtPath, 'name', { value: `${namePrefix}PlantsController` });
  // Nest reads the route from it before it creates the provider that describes it for good.
  describeCreatePlant(PlantsControllerAtPath, extras, 'contract');
  return PlantsControllerAtPath;
}
