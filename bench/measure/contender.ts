import type { BenchmarkDatabase } from '../database/benchmark-database.js';
import type { LoadResult, LoadRun } from '../load/load.js';
import type { ProcessTree } from './process-tree.js';

/** A target that runs and can be measured, on a database of its own. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly database: BenchmarkDatabase;
  readonly storesPlants: boolean;
  /** The server's; pgbench has none. */
  readonly processes?: ProcessTree;
  /** Opens that many connections, so that the next load need not. */
  connect(connections: number): Promise<void>;
  load(run: LoadRun): Promise<LoadResult>;
}
