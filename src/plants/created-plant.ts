/** What is told of a plant that was created. */
export interface CreatedPlant {
  /** As it was sent: any int64. */
  readonly id: bigint;
  /** The name of who created it, where that is known. */
  readonly createdBy: string | undefined;
}
