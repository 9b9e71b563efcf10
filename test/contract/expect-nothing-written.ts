import { expect } from '@jest/globals';
import type { RawResponse } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import type { ContractTarget } from './contract-target.js';
import { storedPlants } from './stored-plants.js';

/** A refusal with this number, and a database without plants. Resolves to the refusal's message. */
export async function expectNothingWritten(
  target: ContractTarget,
  response: RawResponse | undefined,
  error: number,
): Promise<string> {
  const message = expectRefusal(response, error, target.errorStatus);
  expect(await storedPlants(target)).toEqual([]);
  return message;
}
