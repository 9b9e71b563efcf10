import { PlantStoreClient } from '../../../src/client/index.js';

/** A client that notes its pauses, in milliseconds, instead of making them. */
export class ImpatientClient extends PlantStoreClient {
  readonly pauses: number[] = [];

  protected override pause(milliseconds: number): Promise<void> {
    this.pauses.push(milliseconds);
    return Promise.resolve();
  }
}
