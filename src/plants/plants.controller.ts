import { All, Controller, HttpCode, Post, UseFilters, UseInterceptors } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
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

@Controller('plants')
@UseFilters(ApiExceptionFilter)
export class PlantsController {
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
