import {
  type CanActivate,
  Controller,
  HttpCode,
  HttpStatus,
  Post,
  Res,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { ExactBody } from '../http/exact-body.decorator.js';
import { ExactBodyInterceptor } from '../http/exact-body.interceptor.js';
import { type PlatformResponse, sendJson } from '../http/platform.js';
import { ReadsOwnBody } from '../http/reads-own-body.decorator.js';
import { ApiCreatePlant } from './api-create-plant.decorator.js';
import type { NewPlant } from './dto/new-plant.dto.js';
import { NewPlantPipe } from './dto/new-plant.pipe.js';
import { IdempotencyKey } from './idempotency-key.decorator.js';
import { PlantsService } from './plants.service.js';

@UseFilters(ApiExceptionFilter)
@ApiTags('Plants')
export abstract class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @ReadsOwnBody()
  @HttpCode(HttpStatus.OK)
  @UseInterceptors(ExactBodyInterceptor)
  @ApiCreatePlant()
  async create(
    @ExactBody(NewPlantPipe) newPlant: NewPlant,
    @IdempotencyKey() idempotencyKey: string | undefined,
    // Sent from here, so that no interceptor of a host gives the answer another form.
    @Res() response: PlatformResponse,
  ): Promise<void> {
    sendJson(response, HttpStatus.OK, await this.plants.create(newPlant, idempotencyKey));
  }
}

/** The controller at a path of its own: each store in an application has another one. */
export function plantsControllerAt(path: string, guards: Type<CanActivate>[]): Type<PlantsController> {
  @Controller(path)
  @UseGuards(...guards)
  class PlantsControllerAtPath extends PlantsController {}

  return PlantsControllerAtPath;
}
