import type { Registry } from 'prom-client';

/** The values of a registry at a moment, as they go from one process to another. */
export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The metrics of one process, apart as they are brought together in different ways. */
export interface MetricsSnapshot {
  /** What the service does: its processes add up. */
  service: MetricValues;
  /** What the process itself takes: memory, processor time, the delay of its event loop. */
  process: MetricValues;
}
