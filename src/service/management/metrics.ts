import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { IssuedTokenVerifier } from '../../auth/issued-token.verifier.js';
import { StorePool } from '../../prisma/store-pool.js';
import { ERROR_CATALOGUE, isServiceFailure } from '../../errors/error-catalogue.js';
import { requestContext, type RequestObserver } from '../../http/request-context.js';
import { Histogram, PlantsMetrics } from '../../plants/plants.metrics.js';

const EVENT_LOOP_PRECISION_MS = 10;

/** The answers to creates, and the refusals, since the start. */
export class RequestMetrics implements RequestObserver {
  /** The number of answers by error number; 0 is success. */
  readonly answers = new Map([0, ...Object.keys(ERROR_CATALOGUE)].map((error) => [Number(error), 0]));
  readonly durations = {
    success: Histogram.ofSeconds(),
    refused: Histogram.ofSeconds(),
    failed: Histogram.ofSeconds(),
  };

  answered(response: ServerResponse, durationMs: number): void {
    const { error, plantId } = requestContext(response);
    // A page of the documentation.
    if (error === 0 && plantId === undefined) return;
    const outcome = error === 0 ? 'success' : isServiceFailure(error) ? 'failed' : 'refused';
    this.durations[outcome].observe(durationMs / 1000);
    this.answers.set(error, (this.answers.get(error) ?? 0) + 1);
  }
}

/** The metrics of the service and its process. They read existing counters, so a request pays next to nothing. */
@Injectable()
export class Metrics {
  private readonly connectionWaits = Histogram.ofSeconds();
  private registry: Promise<Registry> | undefined;

  constructor(
    private readonly requests: RequestMetrics,
    private readonly plants: PlantsMetrics,
    private readonly pool: StorePool,
    private readonly issuedTokens: IssuedTokenVerifier,
  ) {
    pool.connectionWaits = this.connectionWaits;
  }

  /** Returns all metrics in the text format of Prometheus. */
  async expose(isReady: boolean): Promise<{ type: string; text: string }> {
    this.registry ??= metricsOfProcess();
    const registry = await this.registry;
    const { requests, plants, pool, issuedTokens, connectionWaits } = this;
    const wrongTokens = (requests.answers.get(40101) ?? 0) + (requests.answers.get(40102) ?? 0);
    const answers = Array.from(requests.answers, ([error, count]): Sample => [`{error="${error}"}`, count]);
    const durations = Object.entries(requests.durations).flatMap(([outcome, histogram]) =>
      bucketsOf(histogram, `outcome="${outcome}"`),
    );
    const own = [
      metric('requests_total', 'counter', 'Answers to creates, and refusals, by error number; 0 is success.', answers),
      metric('request_duration_seconds', 'histogram', 'From the headers of a request to its answer.', durations),
      metric('wrong_tokens_total', 'counter', 'Requests that were refused for their token.', wrongTokens),
      metric('token_expires_seconds', 'gauge', 'Until the first of the tokens in use ends.', issuedTokens.soonestEnd),
      metric('plants_created_total', 'counter', 'Plants that were created.', plants.created),
      metric('creates_waiting', 'gauge', 'Creates that wait for a statement.', plants.countWaiting()),
      metric('creates_in_flight', 'gauge', 'Creates whose statement is in flight.', plants.inFlight),
      metric('statement_plants', 'histogram', 'Plants in a statement.', bucketsOf(plants.statementPlants)),
      metric('statement_duration_seconds', 'histogram', 'Time of a statement.', bucketsOf(plants.statementSeconds)),
      metric('database_connections_in_use', 'gauge', 'Connections in use.', pool.connectionsInUse),
      metric('database_connection_wait_seconds', 'histogram', 'Waits for a connection.', bucketsOf(connectionWaits)),
      metric('ready', 'gauge', '1 if /readyz answers 200, else 0.', Number(isReady)),
    ];
    return { type: registry.contentType, text: `${own.join('\n')}\n${await registry.metrics()}` };
  }
}

/** The suffix of a name with its labels, and the value. */
type Sample = readonly [suffix: string, value: number];

function metric(name: string, type: string, help: string, samples: number | readonly Sample[]): string {
  const full = `plant_store_${name}`;
  const values = typeof samples === 'number' ? [['', samples] as const] : samples;
  const lines = values.map(([suffix, value]) => `${full}${suffix} ${value === Infinity ? '+Inf' : value}`);
  return [`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`, ...lines].join('\n');
}

/** A histogram for Prometheus, where each bucket includes the smaller ones. */
function bucketsOf({ bounds, counts, sum }: Histogram, label = ''): Sample[] {
  let count = 0;
  const buckets = counts.map((inBucket, at): Sample => {
    count += inBucket;
    return [`_bucket{le="${bounds[at] ?? '+Inf'}"${label && `,${label}`}}`, count];
  });
  const labels = label && `{${label}}`;
  return [...buckets, [`_sum${labels}`, sum], [`_count${labels}`, count]];
}

/** Memory, CPU, garbage collection and event loop. prom-client takes 30 ms and 12 MB, so the first scrape loads it. */
async function metricsOfProcess(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  // The monitor of the event loop returns NaN until its second tick. Its timer comes before a longer one that begins now,
  // so each wait sees a tick, even if the loop was blocked.
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  await setTimeout(2 * EVENT_LOOP_PRECISION_MS);
  return registry;
}
