/** Whether each id is larger than the one before, or anywhere in the range of int64. */
export type IdOrder = 'ascending' | 'random';

/** An id for each number, no two of them alike, spread over all of int64: as create-plants.lua makes them. */
export function scatter(number: bigint): bigint {
  let id = BigInt.asUintN(64, number * 0x9e3779b97f4a7c15n);
  id = BigInt.asUintN(64, (id ^ (id >> 32n)) * 0xd6e8feb86659fd93n);
  return BigInt.asIntN(64, id ^ (id >> 29n));
}
