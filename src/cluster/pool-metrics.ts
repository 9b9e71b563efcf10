import { Counter, Gauge, Registry } from 'prom-client';
import type { WorkerPool } from './worker-pool.js';

/** What there is to tell of the workers as a whole. */
export function observePool(pool: WorkerPool): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'plant_store_workers',
    help: 'Workers that serve now.',
    registers,
    collect() {
      this.set(pool.serving.length);
    },
  });
  new Counter({
    name: 'plant_store_worker_restarts_total',
    help: 'Workers that were started in the place of one that had ended.',
    registers,
    collect() {
      this.reset();
      this.inc(pool.restarts);
    },
  });
  return registry;
}
