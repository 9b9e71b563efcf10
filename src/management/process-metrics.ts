import { setTimeout } from 'node:timers/promises';

import type { Registry } from 'prom-client';

const EVENT_LOOP_PRECISION_MS = 10;

/** Memory, processor time, garbage collection and event loop of this process, observed from now on. */
export async function observeProcess(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  // Before its first tick the monitor of the event loop has no numbers to tell, but NaN.
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  return registry;
}
