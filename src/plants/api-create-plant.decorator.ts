import { applyDecorators } from '@nestjs/common';
import { ApiBadRequestResponse, ApiBody, ApiHeader, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ErrorBody } from '../errors/error-body.dto.js';
import { failureExamples } from '../errors/failure-examples.js';
import { NewPlant } from './dto/new-plant.dto.js';
import { Plant } from './dto/plant.dto.js';
import { IdempotencyKeyReusedError } from './idempotency-key.error.js';
import { InvalidPlantError } from './invalid-plant.error.js';
import { PlantExistsError } from './plant-exists.error.js';
import { StorageUnavailableError } from './storage.error.js';

/** How `POST /plants` stands in the OpenAPI document. */
export function ApiCreatePlant(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createPlant',
      summary: 'Create plant',
      description: 'Creates a new plant in the store',
    }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Makes the request safe to repeat: the same key, id, name and tag again answers the same 200 and creates nothing.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    }),
    ApiBody({
      type: NewPlant,
      required: true,
      examples: {
        plant: { summary: 'A plant with a tag', value: { id: 1, name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { id: 2, name: 'Fern' } },
      },
    }),
    ApiOkResponse({
      type: Plant,
      description: 'The plant response',
      examples: {
        plant: { summary: 'A plant with a tag', value: { name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { name: 'Fern' } },
      },
    }),
    ApiBadRequestResponse({
      type: ErrorBody,
      description: 'Unexpected error on creation',
      examples: failureExamples(
        new InvalidPlantError(['name is missing; it must be a string']),
        new PlantExistsError(1n),
        new IdempotencyKeyReusedError(1n),
        new StorageUnavailableError(undefined),
      ),
    }),
  );
}
