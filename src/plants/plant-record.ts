/** A plant as it is stored. */
export interface PlantRecord {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  /** The `Idempotency-Key` of the request that created it. */
  readonly idempotencyKey: string | null;
  /** The name of who created it, where that is known. */
  readonly createdBy: string | null;
}
