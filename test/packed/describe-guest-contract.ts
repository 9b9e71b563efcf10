import { describeBodyJson } from '../contract/body-json.js';
import type { ContractTarget } from '../contract/contract-target.js';
import { describeFields } from '../contract/fields.js';
import { describeIdempotency } from '../contract/idempotency.js';
import { describeIdentifiers } from '../contract/identifiers.js';
import { describeNamesAndTags } from '../contract/names-and-tags.js';
import { describeTakenIds } from '../contract/taken-ids.js';

/** What holds for a store inside of an application. */
export function describeGuestContract(target: () => ContractTarget, { exempt }: { exempt: boolean }): void {
  describeIdempotency(target);
  if (!exempt) return;
  describeTakenIds(target);
  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target);
  describeBodyJson(target);
}
