import { type Prepare, startStore } from '../support/service/store.js';
import type { ContractTarget } from './contract-target.js';
import { runningTarget } from './running-target.js';

/** A store that runs while the tests of the surrounding `describe` do. */
export function contractStore(variables: Record<string, string> = {}, prepare?: Prepare): () => ContractTarget {
  return runningTarget(() => startStore(variables, prepare));
}
