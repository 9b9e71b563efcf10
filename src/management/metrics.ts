import { setTimeout } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { PlantsStatistics } from '../plants/plants-statistics.js';
import { logWriter } from '../util/log-writer.js';
import { packageVersion } from '../util/package-files.cjs';

const EVENT_LOOP_PRECISION_MS = 10;

/** The metrics of the service, and of its process from now on: memory, processor time, garbage collection and event loop. */
export async function observe(statistics: PlantsStatistics): Promise<Registry> {
  const registry = new Registry();
  const registers = [registry];
  // Values are read when the metrics are requested, so that counting costs a create no more than an addition.
  new Counter({
    name: 'plant_store_plants_created_total',
    help: 'Plants that were created.',
    registers,
    collect() {
      this.reset();
      this.inc(statistics.created);
    },
  });
  new Counter({
    name: 'plant_store_plants_created_by_total',
    help: 'Plants that were created, by the name of the access token; those of all JWTs together.',
    labelNames: ['token'],
    registers,
    collect() {
      this.reset();
      for (const [token, plants] of statistics.createdBy) this.inc({ token }, plants);
    },
  });
  new Counter({
    name: 'plant_store_statements_total',
    help: 'Statements sent to create plants.',
    registers,
    collect() {
      this.reset();
      this.inc(statistics.statements);
    },
  });
  new Gauge({
    name: 'plant_store_creates_waiting',
    help: 'Creates that wait for a statement.',
    registers,
    collect() {
      this.set(statistics.waiting);
    },
  });
  new Gauge({
    name: 'plant_store_creates_in_flight',
    help: 'Creates whose statement is in flight.',
    registers,
    collect() {
      this.set(statistics.inFlight);
    },
  });
  new Counter({
    name: 'plant_store_log_lines_dropped_total',
    help: 'Log lines that were dropped because standard output was not read.',
    registers,
    collect() {
      this.reset();
      this.inc(logWriter.dropped);
    },
  });
  new Gauge({
    name: 'plant_store_build_info',
    help: 'Always 1; the version is in the label.',
    labelNames: ['version'],
    registers,
  }).set({ version: packageVersion() }, 1);
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  // Before its first tick the monitor of the event loop has no values but NaN.
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  return registry;
}
