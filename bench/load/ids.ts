/** Whether each id is larger than the one before, or anywhere in the range of int64. */
export type IdOrder = 'ascending' | 'random';

/** Those of one run are within as many numbers. */
export const IDS_OF_A_RUN = 10_000_000_000;

let next = 100_000_000_000_000;

/** The first id of a run: no other run has any of its ids. They are exact in JavaScript, and all are as long. */
export function firstIdOfRun(): number {
  next += IDS_OF_A_RUN;
  return next;
}

/** An id for each number, no two of them alike, spread over all of int64. */
export function scatter(number: bigint): bigint {
  let id = BigInt.asUintN(64, number * 0x9e3779b97f4a7c15n);
  id = BigInt.asUintN(64, (id ^ (id >> 32n)) * 0xd6e8feb86659fd93n);
  return BigInt.asIntN(64, id ^ (id >> 29n));
}
