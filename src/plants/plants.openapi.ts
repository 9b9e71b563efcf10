import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  type ApiResponseExamples,
  type ApiResponseOptions,
  type HeadersObject,
} from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import {
  type ApiError,
  ErrorBody,
  idempotencyKeyReused,
  insufficientScope,
  invalidPlant,
  invalidToken,
  missingCredential,
  plantExists,
  storageUnavailable,
} from '../errors/api-error.js';
import { ERROR_CATALOGUE, type ErrorNumber, type ErrorStatus, statusOf } from '../errors/error-catalogue.js';
import { REQUEST_ID_HEADER } from '../http/request-context.js';
import { NewPlant, Plant } from './new-plant.js';

/** One failure of each number that is worth an example. */
const EXAMPLES = [
  missingCredential(),
  invalidToken(),
  insufficientScope([CREATE_PLANTS]),
  invalidPlant(['name is missing; it must be a string']),
  plantExists(1n),
  idempotencyKeyReused(1n, ['name', 'tag']),
  storageUnavailable(undefined),
];

const REQUEST_ID_DESCRIPTION = {
  description:
    "The id of the request in the log of the service: the request's own `X-Request-Id` if that is a plain word, else a new one",
  schema: { type: 'string' },
} as const;

/** Describes `POST /plants` of one store in the OpenAPI document. */
export function ApiCreatePlant(errorStatus: ErrorStatus): MethodDecorator {
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
    ...failureResponses(errorStatus).map((failure) => ApiResponse(failure)),
  );
}

/** With semantic statuses there is one for every status of the catalogue. */
function failureResponses(errorStatus: ErrorStatus): ApiResponseOptions[] {
  const numbersOf = new Map<number, ErrorNumber[]>();
  for (const number of Object.keys(ERROR_CATALOGUE).map((key) => Number(key) as ErrorNumber)) {
    const status = statusOf(number, errorStatus);
    numbersOf.set(status, [...(numbersOf.get(status) ?? []), number]);
  }
  return [...numbersOf].map(([status, numbers]) => {
    const examples = EXAMPLES.filter(({ error }) => numbers.includes(error)).map(exampleOf);
    return {
      status,
      type: ErrorBody,
      description: errorStatus === 'contract' ? 'Unexpected error on creation' : meaningOf(status, numbers),
      headers: headersOf(numbers),
      ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
    };
  });
}

/** The failure as it is in the answer, by its number. */
function exampleOf({ error, message }: ApiError): [number, ApiResponseExamples] {
  return [error, { summary: `${error}: ${ERROR_CATALOGUE[error].meaning}`, value: { error, message } }];
}

function meaningOf(status: number, numbers: ErrorNumber[]): string {
  const meanings = numbers.map((number) => `${number}: ${ERROR_CATALOGUE[number].meaning}`);
  return `${STATUS_CODES[status] ?? 'Error'}. ${meanings.join('; ')}`;
}

/** The headers that some failures carry, with the numbers of those failures. */
const HEADERS = [
  { name: 'WWW-Authenticate', type: 'string', when: /^40[13]/, says: 'the challenge, as RFC 6750 has it' },
  { name: 'Allow', type: 'string', when: /^405/, says: 'the one method that is offered' },
  { name: 'Retry-After', type: 'integer', when: /^503/, says: 'seconds to wait before sending again' },
];

function headersOf(numbers: ErrorNumber[]): HeadersObject {
  const headers: HeadersObject = {};
  for (const { name, type, when, says } of HEADERS) {
    const carriers = numbers.filter((number) => when.test(String(number)));
    if (carriers.length > 0) headers[name] = { description: `With ${carriers.join(', ')}: ${says}`, schema: { type } };
  }
  return { ...headers, [REQUEST_ID_HEADER]: REQUEST_ID_DESCRIPTION };
}
