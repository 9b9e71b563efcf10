import {
  All,
  type CanActivate,
  Controller,
  HttpCode,
  Post,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import { ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { ExactBody } from '../http/exact-body.decorator.js';
import { ExactBodyInterceptor } from '../http/exact-body.interceptor.js';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { ApiCreatePlant } from './api-create-plant.decorator.js';
import { NewPlant } from './dto/new-plant.dto.js';
import { NewPlantPipe } from './dto/new-plant.pipe.js';
import { Plant } from './dto/plant.dto.js';
import { IdempotencyKey } from './idempotency-key.decorator.js';
import { PlantsService } from './plants.service.js';

@UseFilters(ApiExceptionFilter)
@ApiTags('Plants')
export abstract class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @UseInterceptors(ExactBodyInterceptor)
  @ApiCreatePlant()
  create(@ExactBody(NewPlantPipe) newPlant: NewPlant, @IdempotencyKey() idempotencyKey?: string): Promise<Plant> {
    return this.plants.create(newPlant, idempotencyKey);
  }

  @All()
  @ApiExcludeEndpoint()
  refuseOtherMethods(): never {
    throw new MethodNotAllowedError('POST');
  }
}

/** The controller at a path of its own: each store in an application has another one. */
export function plantsControllerAt(path: string, guards: Type<CanActivate>[]): Type<PlantsController> {
  @Controller(path)
  @UseGuards(...guards)
  class PlantsControllerAtPath extends PlantsController {}

  return PlantsControllerAtPath;
}
