import { expect } from '@jest/globals';
import type { RawResponse } from '../support/http/raw-connection.js';
import { ANSWER_HEADERS } from '../support/http/refusal.js';

/** What the answer to a created plant looks like: the plant alone, without its id. */
export function expectCreated(response: RawResponse | undefined, plant: { name: string; tag?: string }): void {
  expect(response).toMatchObject({ status: 200, headers: ANSWER_HEADERS });
  expect(JSON.parse(response?.body ?? 'null')).toStrictEqual(plant);
}
