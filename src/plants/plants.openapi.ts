import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import {
  ErrorBody,
  idempotencyKeyReused,
  insufficientScope,
  invalidPlant,
  invalidToken,
  missingCredential,
  plantExists,
  storageUnavailable,
} from '../errors/api-error.js';
import type { ErrorStatus } from '../errors/error-catalogue.js';
import { failureResponses, REQUEST_ID_DESCRIPTION } from '../http/openapi.js';
import { REQUEST_ID_HEADER } from '../http/request-context.js';
import { NewPlant, Plant } from './new-plant.js';

/** Describes `POST /plants` of one store in the OpenAPI document. */
export function ApiCreatePlant(errorStatus: ErrorStatus): MethodDecorator {
  const failures = failureResponses(
    {
      type: ErrorBody,
      description: 'Unexpected error on creation',
      examples: [
        missingCredential(),
        invalidToken(),
        insufficientScope([CREATE_PLANTS]),
        invalidPlant(['name is missing; it must be a string']),
        plantExists(1n),
        idempotencyKeyReused(1n, ['name', 'tag']),
        storageUnavailable(undefined),
      ],
    },
    errorStatus,
  );
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
      headers: { [REQUEST_ID_HEADER]: REQUEST_ID_DESCRIPTION },
      examples: {
        plant: { summary: 'A plant with a tag', value: { name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { name: 'Fern' } },
      },
    }),
    ...failures.map((failure) => ApiResponse(failure)),
  );
}
