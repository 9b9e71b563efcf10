import { Registry } from 'prom-client';
import { readCounter, readGauge } from '../management/read-metric.js';
import type { WorkerPool } from './worker-pool.js';

/** What there is to tell of the workers as a whole. */
export function observePool(pool: WorkerPool): Registry {
  const registry = new Registry();
  readGauge(registry, 'plant_store_workers', 'Workers that serve now.', () => pool.serving.length);
  readCounter(
    registry,
    'plant_store_worker_restarts_total',
    'Workers that were started in the place of one that had ended.',
    () => pool.restarts,
  );
  return registry;
}
