import type { Registry } from 'prom-client';

import type { PlantsStatistics } from '../index.js';
import { packageVersion } from '../package-version.js';

/** What this process does for the service, read when it is asked for: counting costs a request no more than an addition. */
export async function observeService(statistics: PlantsStatistics): Promise<Registry> {
  const { Counter, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];

  const counter = (name: string, help: string, read: () => number): unknown =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  const gauge = (name: string, help: string, read: () => number): unknown =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });

  counter('plant_store_plants_created_total', 'Plants that were created.', () => statistics.created);
  counter('plant_store_statements_total', 'Statements sent to create plants.', () => statistics.statements);
  gauge('plant_store_creates_waiting', 'Creates that wait for a statement.', () => statistics.waiting);
  gauge('plant_store_creates_in_flight', 'Creates whose statement is under way.', () => statistics.inFlight);
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the version is in the label.',
    labelNames: ['version'],
    aggregator: 'first',
    registers,
  }).set({ version: packageVersion() }, 1);
  return registry;
}
