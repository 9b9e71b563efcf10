import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiResponse,
  ApiSchema,
  type HeadersObject,
} from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import {
  ERROR_CATALOGUE,
  ERROR_NUMBERS,
  type ErrorNumber,
  type ErrorStatus,
  statusOf,
} from '../errors/error-catalogue.js';
import { REQUEST_ID_HEADER } from '../http/request-context.js';
import { NewPlant, Plant } from './plant.dto.js';
import { MAX_KEY_LENGTH } from './plants.service.js';

const header = (type: string, description: string) => ({ description, schema: { type } });
const REQUEST_ID = header(
  'string',
  "The id of the request in the log: the request's own `X-Request-Id` if that is a plain word, else a new one",
);
const FAILURE_HEADERS: HeadersObject = {
  'WWW-Authenticate': header('string', 'With 401xx and 40300: the challenge'),
  Allow: header('string', 'With 40500: the one method that is offered'),
  'Retry-After': header('integer', 'With 503xx: seconds to wait'),
  [REQUEST_ID_HEADER]: REQUEST_ID,
};

/** The body of every failure, as a schema of OpenAPI. */
class ErrorBody {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: 'Error number. Its first three digits are the status that plain HTTP would have used.',
    example: 40901,
  })
  error!: number;
  @ApiProperty({
    description: 'Error message text: what was wrong, where, and what would be right',
    example: 'The id 5 is taken: a plant with this id exists already. Send another id.',
  })
  message!: string;
}

/** What the server and the router of the service answer, and not the route of the store. */
const NOT_OF_THE_ROUTE: readonly ErrorNumber[] = [40400, 40500, 40800, 43100];

/** @param schemaPrefix of the names of the schemas: a host may have a `Plant` or an `Error` of its own */
export function ApiCreatePlant(errorStatus: ErrorStatus, schemaPrefix: string): MethodDecorator {
  const named = <T extends object>(name: string, Body: Type<T>): Type<T> => {
    @ApiSchema({ name: schemaPrefix + name })
    class Schema extends (Body as Type<object>) {}
    return Schema as Type<T>;
  };
  const ErrorSchema = named('Error', ErrorBody);
  const numbers = ERROR_NUMBERS.filter((number) => !NOT_OF_THE_ROUTE.includes(number));
  return applyDecorators(
    ApiOperation({ summary: 'Create plant', description: 'Creates a new plant in the store' }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'Makes the request safe to repeat: ' +
        'the same plant with the same key again gets the same 200, and creates nothing.',
      // Tools send the example: an empty key would be refused.
      schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH, example: 'order-17' },
    }),
    ApiBody({
      type: named('NewPlant', NewPlant),
      examples: {
        plant: { summary: 'A plant with a tag', value: { id: 1, name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { id: 2, name: 'Fern' } },
      },
    }),
    ApiOkResponse({
      type: named('Plant', Plant),
      description: 'The plant response',
      headers: { [REQUEST_ID_HEADER]: REQUEST_ID },
      examples: {
        plant: { summary: 'A plant with a tag', value: { name: 'Rose', tag: 'flower' } },
        untagged: { summary: 'A plant without a tag', value: { name: 'Fern' } },
      },
    }),
    ...failureResponses(errorStatus, numbers).map((failure) => ApiResponse({ ...failure, type: ErrorSchema })),
  );
}

/** One response for 400, or with semantic statuses one for each status of these numbers. */
export function failureResponses(
  errorStatus: ErrorStatus,
  of: readonly ErrorNumber[] = ERROR_NUMBERS,
): { status: number; description: string; headers: HeadersObject }[] {
  const statuses = new Set(of.map((number) => statusOf(number, errorStatus)));
  return [...statuses].map((status) => {
    const numbers = of.filter((number) => statusOf(number, errorStatus) === status);
    const meanings = numbers.map((number) => `${number}: ${ERROR_CATALOGUE[number].meaning}`);
    const described = `${STATUS_CODES[status] ?? 'Error'}. ${meanings.join('; ')}`;
    const description = errorStatus === 'contract' ? 'Unexpected error on creation' : described;
    return { status, description, headers: FAILURE_HEADERS };
  });
}
