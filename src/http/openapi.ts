import type { Type } from '@nestjs/common';
import type { ApiResponseExamples, ApiResponseOptions, HeadersObject } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors/api-error.js';
import { ERROR_CATALOGUE, type ErrorNumber, type ErrorStatus, statusOf } from '../errors/error-catalogue.js';
import { REQUEST_ID_HEADER } from './request-context.js';

/** What an operation declares of its failures. */
interface DeclaredFailures {
  type: Type;
  /** The meaning of 400 if every failure has that status. */
  description: string;
  /** One failure of each number that is worth an example. */
  examples: ApiError[];
}

/** The failure responses of an operation. With semantic statuses there is one for every status of the catalogue. */
export function failureResponses(declared: DeclaredFailures, errorStatus: ErrorStatus): ApiResponseOptions[] {
  const numbersOf = new Map<number, ErrorNumber[]>();
  for (const number of Object.keys(ERROR_CATALOGUE).map((key) => Number(key) as ErrorNumber)) {
    const status = statusOf(number, errorStatus);
    numbersOf.set(status, [...(numbersOf.get(status) ?? []), number]);
  }
  return [...numbersOf].map(([status, numbers]) => {
    const examples = declared.examples.filter(({ error }) => numbers.includes(error)).map(exampleOf);
    return {
      status,
      type: declared.type,
      description: errorStatus === 'contract' ? declared.description : meaningOf(status, numbers),
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

export const REQUEST_ID_DESCRIPTION = {
  description:
    "The id of the request in the log of the service: the request's own `X-Request-Id` if that is a plain word, else a new one",
  schema: { type: 'string' },
} as const;

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
