import type { HeadersObject, ResponseObject, ResponsesObject } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { InvalidTokenError, MissingCredentialError } from '../auth/credential.error.js';
import { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
import { type ErrorStatus, statusOf } from '../errors/error-status.js';
import { failureExamples } from '../errors/failure-examples.js';

const JSON_TYPE = 'application/json';
const NUMBERS = Object.keys(ERROR_CATALOGUE).map((number) => Number(number) as ErrorNumber);

/** The headers that some failures carry, with the numbers of those failures. */
const HEADERS = [
  { name: 'WWW-Authenticate', type: 'string', when: /^401/, says: 'the challenge, as RFC 6750 has it' },
  { name: 'Allow', type: 'string', when: /^405/, says: 'the one method that is offered' },
  { name: 'Retry-After', type: 'integer', when: /^(?:429|503)/, says: 'seconds to wait before sending again' },
  { name: 'X-Request-Id', type: 'string', when: /^5/, says: 'where to look in the log of the service' },
];

/**
 * Completes the 400 response that an operation declares with what every operation has: the failures of the credential, and
 * headers. With semantic statuses a response for every status takes its place.
 */
export function describeFailures(responses: ResponsesObject, errorStatus: ErrorStatus): void {
  const declared = responses['400'] as ResponseObject;
  const { schema, examples: own } = declared.content?.[JSON_TYPE] ?? {};
  const examples = { ...failureExamples(new MissingCredentialError(), new InvalidTokenError()), ...own };
  delete responses['400'];
  for (const [status, numbers] of byStatus(errorStatus)) {
    const chosen = Object.entries(examples).filter(([number]) => numbers.includes(Number(number) as ErrorNumber));
    responses[status] = {
      description: errorStatus === 'contract' ? declared.description : meaningOf(status, numbers),
      ...headersOf(numbers),
      content: {
        [JSON_TYPE]: { ...(schema && { schema }), ...(chosen.length > 0 && { examples: Object.fromEntries(chosen) }) },
      },
    };
  }
}

function byStatus(errorStatus: ErrorStatus): Map<number, ErrorNumber[]> {
  const statuses = new Map<number, ErrorNumber[]>();
  for (const number of NUMBERS) {
    const status = statusOf(number, errorStatus);
    statuses.set(status, [...(statuses.get(status) ?? []), number]);
  }
  return statuses;
}

function meaningOf(status: number, numbers: ErrorNumber[]): string {
  const meanings = numbers.map((number) => `${number}: ${ERROR_CATALOGUE[number].meaning}`);
  return `${STATUS_CODES[status] ?? 'Error'}. ${meanings.join('; ')}`;
}

function headersOf(numbers: ErrorNumber[]): { headers?: HeadersObject } {
  const headers: HeadersObject = {};
  for (const { name, type, when, says } of HEADERS) {
    const carriers = numbers.filter((number) => when.test(String(number)));
    if (carriers.length > 0) headers[name] = { description: `With ${carriers.join(', ')}: ${says}`, schema: { type } };
  }
  return Object.keys(headers).length > 0 ? { headers } : {};
}
