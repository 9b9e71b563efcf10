import { describeBodyBytes } from './body-bytes.js';
import { describeBodyFraming } from './body-framing.js';
import { describeBodyJson } from './body-json.js';
import { describeConnections } from './connections.js';
import { describeContentEncodings } from './content-encodings.js';
import type { ContractTarget } from './contract-target.js';
import { describeCredentialAmongMany, describeCredentials } from './credentials.js';
import { describeExpectContinue } from './expect-continue.js';
import { describeFields } from './fields.js';
import { describeIdempotency } from './idempotency.js';
import { describeIdentifiers } from './identifiers.js';
import { describeMediaTypes } from './media-types.js';
import { describeMethods } from './methods.js';
import { describeNamesAndTags } from './names-and-tags.js';
import { describeOrderInBrokenRequests, describeOrderOfChecks } from './order-of-checks.js';
import { describePaths } from './paths.js';
import { describePipelining } from './pipelining.js';
import { describeProtocol } from './protocol.js';
import { describeTakenIds } from './taken-ids.js';

/** What holds for every application that keeps the contract, with the default limits. */
export function describeContract(target: () => ContractTarget): void {
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
