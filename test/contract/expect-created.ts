import { expect } from '@jest/globals';
import type { RawResponse } from '../support/raw-connection.js';

/** What the answer to a created plant looks like: the plant alone, without its id. */
export function expectCreated(response: RawResponse | undefined, plant: { name: string; tag?: string }): void {
  expect({ status: response?.status, type: response?.headers['content-type'] }).toEqual({
    status: 200,
    type: 'application/json',
  });
  expect(JSON.parse(response?.body ?? 'null')).toStrictEqual(plant);
}
