import { Gauge, Registry } from 'prom-client';

import type { PlantsStatistics } from '../index.js';
import { packageVersion } from '../util/package-files.js';
import { readCounter, readCounters, readGauge } from './read-metric.js';

/** What this process does for the service, read when it is asked for: counting costs a request no more than an addition. */
export function observeService(statistics: PlantsStatistics): Registry {
  const registry = new Registry();
  readCounter(registry, 'plant_store_plants_created_total', 'Plants that were created.', () => statistics.created);
  readCounters(
    registry,
    'plant_store_plants_created_by_total',
    'Plants that were created, by the name of the access token; those of all JWTs together.',
    'token',
    () => statistics.createdBy,
  );
  readCounter(
    registry,
    'plant_store_statements_total',
    'Statements sent to create plants.',
    () => statistics.statements,
  );
  readGauge(registry, 'plant_store_creates_waiting', 'Creates that wait for a statement.', () => statistics.waiting);
  readGauge(
    registry,
    'plant_store_creates_in_flight',
    'Creates whose statement is under way.',
    () => statistics.inFlight,
  );
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the version is in the label.',
    labelNames: ['version'],
    aggregator: 'first',
    registers: [registry],
  }).set({ version: packageVersion() }, 1);
  return registry;
}
