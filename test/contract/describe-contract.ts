import type { Platform } from '../support/host/host.js';
import { describeBodyJson, describeBodySize, describeMediaTypes, describeRepeatedKeys } from './bodies.js';
import { describeConnections } from './connections.js';
import type { ContractTarget } from './contract-target.js';
import { describePlants } from './plants.js';
import { describeBodyFraming, describeExpectContinue, describeProtocol } from './protocol.js';
import {
  describeCredentials,
  describeCredentialsOfServer,
  describeMethods,
  describeOrderOfChecks,
  describePaths,
  describeThePath,
} from './requests.js';

/** Who reads the bodies: the store, or the parser of the host, which keeps the bytes. */
export type BodyReading = 'store' | 'rawBody';

/** What a store keeps of the contract as a guest: all that is not for the host's server, router and parser to say. */
export function describeGuestContract(target: () => ContractTarget, reading: BodyReading, platform: Platform): void {
  describeCredentials(target);
  describeThePath(target);
  describePlants(target, reading === 'store' || platform === 'express');
  if (reading === 'rawBody') {
    describeRepeatedKeys(target);
    return;
  }
  describeBodyJson(target);
  describeBodySize(target, 102_400);
  describeMediaTypes(target);
  describeOrderOfChecks(target);
}

/** What holds for every application of the store's own, with the default limits. */
export function describeContract(target: () => ContractTarget): void {
  describeGuestContract(target, 'store', 'express');
  describeBodyFraming(target);
  describeCredentialsOfServer(target);
  describeExpectContinue(target);
  describePaths(target);
  describeMethods(target);
  describeProtocol(target);
  describeConnections(target);
}
