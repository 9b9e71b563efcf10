import type { Platform } from '../support/host/host.js';
import { describeBodyBytes } from './body-bytes.js';
import { describeBodyJson, describeRepeatedKeys } from './body-json.js';
import { describeBodySize } from './body-size.js';
import { describeContentEncodings } from './content-encodings.js';
import type { ContractTarget } from './contract-target.js';
import { describeCredentials } from './credentials.js';
import { describeFields } from './fields.js';
import { describeIdempotency } from './idempotency.js';
import { describeIdentifiers } from './identifiers.js';
import { describeMediaTypes } from './media-types.js';
import { describeNamesAndTags } from './names-and-tags.js';
import { describeOrderOfChecks } from './order-of-checks.js';
import { describeThePath } from './paths.js';
import { describeTakenIds } from './taken-ids.js';

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
