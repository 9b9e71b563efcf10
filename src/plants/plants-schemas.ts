import type { Type } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { ErrorBody } from '../errors/error-body.dto.js';
import { NewPlant } from './new-plant.js';
import { Plant } from './dto/plant.dto.js';

/** The classes that stand for a store's schemas in an OpenAPI document. They differ from the DTOs in their names only. */
export interface PlantsSchemas {
  newPlant: Type<NewPlant>;
  plant: Type<Plant>;
  error: Type<ErrorBody>;
}

export function plantsSchemas(namePrefix: string): PlantsSchemas {
  return {
    newPlant: named(`${namePrefix}NewPlant`, NewPlant),
    plant: named(`${namePrefix}Plant`, Plant),
    error: named(`${namePrefix}Error`, ErrorBody),
  };
}

function named<Schema extends object>(name: string, schema: Type<Schema>): Type<Schema> {
  @ApiSchema({ name })
  class NamedSchema extends (schema as Type<object>) {}

  return NamedSchema as Type<Schema>;
}
