import { beforeEach, describe } from '@jest/globals';
import type { Platform } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';
import { describeBodyBytes, describeBodySize } from './bodies.js';
import { describeBodyJson, describeFields, describeRepeatedKeys } from './body-json.js';
import { describeConnections } from './connections.js';
import { contractStore, type ContractTarget, removePlants } from './contract-target.js';
import {
  describeCredentialAmongMany,
  describeCredentials,
  describeOrderInBrokenRequests,
  describeOrderOfChecks,
  describeSeveralTokens,
} from './credentials.js';
import { describeBodyFraming, describeExpectContinue } from './framing.js';
import { describeContentEncodings, describeMediaTypes } from './media-types.js';
import { describeMethods, describePaths, describeThePath } from './paths.js';
import { describePipelining, describeTimeouts } from './pipelining.js';
import { describeProtocol } from './protocol.js';
import { describeIdempotency, describeTakenIds } from './repetitions.js';
import { describeIdentifiers, describeNamesAndTags } from './values.js';

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';

/** What holds for every application that keeps the contract, with the default limits. */
export function describeContract(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));
  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target);
  describeBodyJson(target);
  describeBodyBytes(target);
  describeBodyFraming(target);
  describeMediaTypes(target);
  describeContentEncodings(target);
  describeCredentials(target);
  describeCredentialAmongMany(target);
  describeOrderOfChecks(target);
  describeOrderInBrokenRequests(target);
  describeExpectContinue(target);
  describePaths(target);
  describeMethods(target);
  describeTakenIds(target);
  describeIdempotency(target);
  describeProtocol(target);
  describeConnections(target);
  describePipelining(target);
}

/**
 * The contract, as the service on its own keeps it with this ERROR_STATUS.
 *
 * @param start a store with these variables, which runs while the tests of the surrounding `describe` do
 */
export function describeStandalone(
  ERROR_STATUS: 'contract' | 'semantic',
  start: (variables: Record<string, string>) => () => ContractTarget = contractStore,
): void {
  describe(`POST /plants with ERROR_STATUS=${ERROR_STATUS}`, () => {
    describe('and otherwise as it comes', () => {
      const target = start({ ERROR_STATUS });
      describeContract(target);
      describeBodySize(target, 1_048_576);
    });

    describe('and everything else configured', () => {
      const ACCESS_TOKENS = `${OTHER_TOKEN}, ${TOKEN}`;
      const target = start({ ERROR_STATUS, BASE_PATH: '/api/v1', BODY_LIMIT: '100', ACCESS_TOKENS });
      beforeEach(() => removePlants(target()));
      describePaths(target);
      describeBodySize(target, 100);
      describeSeveralTokens(target, [TOKEN, OTHER_TOKEN]);
    });

    describe('and a short REQUEST_TIMEOUT', () => {
      const target = start({ ERROR_STATUS, REQUEST_TIMEOUT: '600' });
      beforeEach(() => removePlants(target()));
      describeTimeouts(target, 600);
    });
  });
}

/** Who reads the bodies of the plant route: the store, or the host, which keeps the bytes. */
export const BODY_READINGS = ['exempt', 'rawBody'] as const;
export type BodyReading = (typeof BODY_READINGS)[number];

/** What differs in a host. */
interface GuestContract {
  /** Whether the router of the host knows this spelling of the path. */
  isRouted?: (path: string) => boolean;
  /** Whether the client can send any header field twice. */
  canRepeat?: boolean;
}

/** HTTP/2 has no scheme and host in its paths, and the client of Node.js sends most header fields once. */
export const OVER_HTTP2: GuestContract = { isRouted: (path) => !/^https?:/i.test(path), canRepeat: false };

/** What a store keeps of the contract as a guest: all that is not for the host's server, router and parser to say. */
export function describeGuestContract(
  target: () => ContractTarget,
  reading: BodyReading,
  platform: Platform,
  { isRouted, canRepeat }: GuestContract = {},
): void {
  // Fastify's own parser refuses keys by which a prototype could be reached.
  const isRead = (body: string): boolean =>
    reading === 'exempt' || platform === 'express' || !/_proto__|"constructor": \{/.test(body);

  beforeEach(() => removePlants(target()));
  describeCredentials(target, canRepeat);
  describeIdempotency(target);
  describeThePath(target, isRouted);
  describeNamesAndTags(target);
  describeFields(target, isRead);
  describeTakenIds(target);
  describeIdentifiers(target);
  if (reading === 'rawBody') {
    describeRepeatedKeys(target, isRead);
    return;
  }
  describeBodyJson(target);
  describeBodyBytes(target);
  describeBodySize(target, 1_048_576);
  describeMediaTypes(target, canRepeat);
  describeContentEncodings(target, canRepeat);
  describeOrderOfChecks(target);
}
