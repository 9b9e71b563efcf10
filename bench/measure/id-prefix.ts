export const FIRST_ID_PREFIX = 10_000;
export const IDS_OF_A_PREFIX = 10_000_000_000;

let last = FIRST_ID_PREFIX;

/** What the ids of one run begin with. Of five digits, so that with ten more an id is exact in JavaScript too. */
export function nextIdPrefix(): number {
  last += 1;
  return last;
}
