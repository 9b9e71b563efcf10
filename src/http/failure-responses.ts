import type { Type } from '@nestjs/common';
import type { ApiResponseExamples, ApiResponseOptions, HeadersObject } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { InsufficientScopeError, InvalidTokenError, MissingCredentialError } from '../auth/auth.errors.js';
import { CREATE_PLANTS } from '../auth/token-verifier.js';
import { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
import { type ErrorStatus, statusOf } from '../errors/error-status.js';
import { failureExamples } from '../errors/failure-examples.js';

const NUMBERS = Object.keys(ERROR_CATALOGUE).map((number) => Number(number) as ErrorNumber);

/** The headers that some failures carry, with the numbers of those failures. */
const HEADERS = [
  { name: 'WWW-Authenticate', type: 'string', when: /^(?:40[13]|429)/, says: 'the challenge, as RFC 6750 has it' },
  { name: 'Allow', type: 'string', when: /^405/, says: 'the one method that is offered' },
  { name: 'Retry-After', type: 'integer', when: /^(?:429|503)/, says: 'seconds to wait before sending again' },
  { name: 'X-Request-Id', type: 'string', when: /^5/, says: 'where to look in the log of the service' },
];

const CREDENTIAL_FAILURES = [
  new MissingCredentialError(),
  new InvalidTokenError(),
  new InsufficientScopeError(CREATE_PLANTS),
];

/** What an operation says of its failures. */
export interface DeclaredFailures {
  type: Type;
  /** The meaning of 400 where every failure has that status. */
  description: string;
  /** By error number. */
  examples: Record<string, ApiResponseExamples>;
}

/**
 * The responses of an operation that fails: what it declares, with what every operation has, the failures of the credential
 * and headers. With semantic statuses there is one for every status of the catalogue.
 */
export function failureResponses(declared: DeclaredFailures, errorStatus: ErrorStatus): ApiResponseOptions[] {
  const examples = { ...failureExamples(...CREDENTIAL_FAILURES), ...declared.examples };
  return [...byStatus(errorStatus)].map(([status, numbers]) => {
    const chosen = Object.entries(examples).filter(([number]) => numbers.includes(Number(number) as ErrorNumber));
    return {
      status,
      type: declared.type,
      description: errorStatus === 'contract' ? declared.description : meaningOf(status, numbers),
      ...headersOf(numbers),
      ...(chosen.length > 0 && { examples: Object.fromEntries(chosen) }),
    };
  });
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
