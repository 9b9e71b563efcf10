import { setTimeout } from 'node:timers/promises';
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { BearerStrategy } from '../auth/bearer-auth.guard.js';
import type { IssuedTokenVerifier } from '../auth/tokens/issued-token-verifier.js';
import type { Database } from '../database/database.js';
import type { Histogram, PlantsMetrics } from '../plants/plants.metrics.js';
import type { WriteBudget } from '../plants/write-queue.js';
import type { ClientStatistics } from './client-statistics.js';
import type { Readiness } from './readiness.js';

const EVENT_LOOP_PRECISION_MS = 10;

/** What the metrics are read from. */
export interface MetricsSources {
  readonly plants: PlantsMetrics;
  readonly budget: Pick<WriteBudget, 'waiting'>;
  readonly database: Pick<Database, 'connectionsInUse'>;
  /** For a connection. */
  readonly waits: Histogram;
  readonly credentials: Pick<BearerStrategy, 'wrongTokens'>;
  readonly issuedTokens: Pick<IssuedTokenVerifier, 'soonestEnd'>;
  readonly readiness: Pick<Readiness, 'findObstacle' | 'degradation'>;
  readonly clients: ClientStatistics;
}

/** As prom-client prints them. */
interface Sample {
  metricName?: string;
  labels?: Record<string, string | number>;
  value: number;
}

type Values = number | Sample[];

/**
 * The metrics of the service since it started, and of its process from now on: memory, processor time, garbage collection and event
 * loop. Values are read when the metrics are requested: to count them costs a request next to nothing, and prom-client is not
 * needed before.
 */
export async function observe(sources: MetricsSources): Promise<Registry> {
  const { plants, budget, database, waits, credentials, issuedTokens, readiness, clients } = sources;
  const registry = new Registry();
  const add = (type: string, name: string, help: string, read: () => Values | Promise<Values>): void => {
    const get = async (): Promise<object> => {
      const values = await read();
      return { name, help, type, values: typeof values === 'number' ? [{ value: values }] : values };
    };
    // A registry uses nothing else of a metric.
    registry.registerMetric({ name, get } as unknown as Metric);
  };
  const counter = add.bind(undefined, 'counter');
  const gauge = add.bind(undefined, 'gauge');
  const histogram = (name: string, help: string, ...of: Parameters<typeof samplesOf>[1][]): void => {
    add('histogram', name, help, () => of.flatMap((each) => samplesOf(name, each)));
  };

  const { success, refused, failed } = clients.durations;
  counter('plant_store_requests_total', 'Answers of the public listener, by error number; 0 for success.', () =>
    clients.answers.map(([error, value]) => ({ labels: { error }, value })),
  );
  histogram(
    'plant_store_request_duration_seconds',
    'Time from the headers of a request to its answer, by outcome.',
    [success, { outcome: 'success' }],
    [refused, { outcome: 'refused' }],
    [failed, { outcome: 'failed' }],
  );
  counter(
    'plant_store_wrong_tokens_total',
    'Requests that were refused for their token.',
    () => credentials.wrongTokens,
  );
  gauge(
    'plant_store_token_expires_seconds',
    'Time until the first of the issued tokens in use ends.',
    () => issuedTokens.soonestEnd,
  );
  counter('plant_store_plants_created_total', 'Plants that were created.', () => plants.created);
  gauge('plant_store_creates_waiting', 'Creates that wait for a statement.', () => budget.waiting);
  gauge('plant_store_creates_in_flight', 'Creates whose statement is in flight.', () => plants.inFlight);
  histogram('plant_store_statement_plants', 'Plants in a statement.', plants.statementPlants);
  histogram('plant_store_statement_duration_seconds', 'Time of a statement.', plants.statementSeconds);

  gauge('plant_store_database_connections_in_use', 'Connections in use.', () => database.connectionsInUse);
  histogram('plant_store_database_connection_wait_seconds', 'Waits for a connection.', waits);

  gauge('plant_store_ready', '1 if /readyz answers 200, else 0.', async () =>
    (await readiness.findObstacle()) === undefined ? 1 : 0,
  );
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  // Before its second tick the monitor of the event loop has no values but NaN. Its timer comes before a longer one that begins now.
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  return registry;
}

/** A histogram as Prometheus reads it: its buckets hold what the ones before them hold, too. */
function samplesOf(name: string, of: Histogram | [Histogram, Record<string, string>]): Sample[] {
  const [{ bounds, counts, sum }, labels = {}] = Array.isArray(of) ? of : [of];
  let value = 0;
  const buckets = counts.map((count, at) => {
    value += count;
    return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? '+Inf', ...labels }, value };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value },
  ];
}
