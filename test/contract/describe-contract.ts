import { beforeEach } from '@jest/globals';
import type { Platform } from '../support/host/host.js';
import { describeBodyJson, describeBodySize, describeMediaTypes, describeRepeatedKeys } from './bodies.js';
import { describeConnections, describePipelining } from './connections.js';
import { type ContractTarget, removePlants } from './contract-target.js';
import {
  describeCredentialAmongMany,
  describeCredentials,
  describeOrderInBrokenRequests,
  describeOrderOfChecks,
} from './credentials.js';
import { describeFields, describeIdentifiers, describeNamesAndTags } from './fields.js';
import { describeMethods, describePaths, describeThePath } from './paths.js';
import { describeBodyFraming, describeExpectContinue, describeHead, describeProtocol } from './protocol.js';
import { describeIdempotency, describeTakenIds } from './repetitions.js';

/** What holds for every application that keeps the contract, with the default limits. */
export function describeContract(target: () => ContractTarget): void {
  beforeEach(() => removePlants(target()));
  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target);
  describeBodyJson(target);
  describeMediaTypes(target);
  describeBodyFraming(target);
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
  describeHead(target);
  describeConnections(target);
  describePipelining(target);
}

/** Who reads the bodies: the store, or the parser of the host, which keeps the bytes. */
export type BodyReading = 'store' | 'rawBody';

/**
 * What a store keeps of the contract as a guest: all that is not for the host's server, router and parser to say.
 *
 * @param isRouted whether the router of the host knows this spelling of the path
 */
export function describeGuestContract(
  target: () => ContractTarget,
  reading: BodyReading,
  platform: Platform,
  { isRouted }: { isRouted?: (path: string) => boolean } = {},
): void {
  beforeEach(() => removePlants(target()));
  describeCredentials(target);
  describeIdempotency(target);
  describeThePath(target, isRouted);
  describeNamesAndTags(target);
  describeFields(target, reading === 'store' || platform === 'express');
  describeTakenIds(target);
  describeIdentifiers(target);
  if (reading === 'rawBody') {
    describeRepeatedKeys(target);
    return;
  }
  describeBodyJson(target);
  describeBodySize(target, 1_048_576);
  describeMediaTypes(target);
  describeOrderOfChecks(target);
}
