import { expect } from '@jest/globals';
import type { ErrorStatus } from '../../../src/errors/error-catalogue.js';
import type { RawResponse } from './raw-connection.js';

/** The header fields of every answer, success or failure. */
export const ANSWER_HEADERS = {
  'content-type': 'application/json',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'x-request-id': expect.stringMatching(/^\S+$/) as unknown,
};

/** What a refusal with this number looks like: its status, its header fields, and a body of `error` and `message` alone. */
export function expectRefusal(response: RawResponse | undefined, error: number, errorStatus: ErrorStatus): string {
  const body = JSON.parse(response?.body ?? 'null') as { error: number; message: string };
  expect({
    status: response?.status,
    headers: response?.headers,
    body,
  }).toEqual({
    status: errorStatus === 'contract' ? 400 : Math.trunc(error / 100),
    headers: expect.objectContaining(ANSWER_HEADERS) as object,
    body: { error, message: expect.stringMatching(/\S/) },
  });
  return body.message;
}

/** The faults of the options that something is given, which it has to refuse as the options of this class; none if it takes them. */
export function faultsOf(owner: string, use: () => unknown): string[] {
  try {
    use();
    return [];
  } catch (error) {
    const [heading, ...faults] = (error as Error).message.split('\n');
    expect(heading).toBe(`The options of ${owner} cannot be used:`);
    return faults;
  }
}
