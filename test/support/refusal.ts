import { expect } from '@jest/globals';
import type { ErrorStatus } from '../../src/errors/error-catalogue.js';
import type { RawResponse } from './raw-connection.js';

/** What a refusal with this number looks like: its status, its media type, and a body of `error` and `message` alone. */
export function expectRefusal(response: RawResponse | undefined, error: number, errorStatus: ErrorStatus): string {
  const body = JSON.parse(response?.body ?? 'null') as { error: number; message: string };
  expect({
    status: response?.status,
    type: response?.headers['content-type'],
    body,
  }).toEqual({
    status: errorStatus === 'contract' ? 400 : Math.trunc(error / 100),
    type: 'application/json',
    body: { error, message: expect.stringMatching(/\S/) },
  });
  return body.message;
}
