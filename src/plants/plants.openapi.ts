import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { ErrorStatus } from '../errors/error-status.js';
import { failureExamples } from '../errors/failure-examples.js';
import { failureResponses } from '../http/openapi.js';
import { IdempotencyKeyReusedError } from './idempotency-key.error.js';
import { InvalidPlantError } from './invalid-plant.error.js';
import { PlantExistsError } from './plant-exists.error.js';
import { plantsSchemas } from './plants-schemas.js';
import { StorageUnavailableError } from './plants.errors.js';

export interface CreatePlantDescription {
  /** What the names of schemas begin with. */
  namePrefix: string;
  /** None where Nest is to make it, since the operation has several paths. */
  operationId?: string | undefined;
  errorStatus: ErrorStatus;
}

/** How `POST /plants` stands in the OpenAPI document. */
export function ApiCreatePlant({ namePrefix, operationId, errorStatus }: CreatePlantDescription): MethodDecorator {
  const schemas = plantsSchemas(namePrefix);
  const failures = failureResponses(
    {
      type: schemas.error,
      description: 'Unexpected error on creation',
      examples: failureExamples(
        new InvalidPlantError(['name is missing; it must be a string']),
        new PlantExistsError(1n),
        new IdempotencyKeyReusedError(1n),
        new StorageUnavailableError(undefined),
      ),
    },
    errorStatus,
  );
  return applyDecorators(
    ApiOperation({
      ...(operationId !== undefined && { operationId }),
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
      type: schemas.newPlant,
      required: true,
      examples: {
        plant: { summary: 'A plant with a tag', value: { id: 1, name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { id: 2, name: 'Fern' } },
      },
    }),
    ApiOkResponse({
      type: schemas.plant,
      description: 'The plant response',
      examples: {
        plant: { summary: 'A plant with a tag', value: { name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { name: 'Fern' } },
      },
    }),
    ...failures.map((failure) => ApiResponse(failure)),
  );
}
