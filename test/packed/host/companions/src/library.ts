import type { PlantsService } from 'plant-store';

/** A library with which a host reaches the database. */
export interface Library {
  /** Creates plant 1 and its order in one transaction, as the documentation shows it. */
  sow(): Promise<unknown>;
  /** Opens transactions, but is not one. */
  readonly instances: unknown[];
  close(): Promise<unknown>;
}

export type OpenLibrary = (url: string, plants: Pick<PlantsService, 'create'>) => Library;
