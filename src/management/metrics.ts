import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { IssuedTokenVerifier } from '../auth/issued-token.verifier.js';
import { refusalOf } from '../auth/token-verifier.js';
import { StorePool } from '../database/store-pool.js';
import { ERROR_CATALOGUE, isServiceFailure } from '../errors/error-catalogue.js';
import { requestContext, type ResponseHook } from '../http/request-context.js';
import { MAX_BATCH_PLANTS, WriteStatistics } from '../writer/batch-writer.js';

/** In seconds. The last bucket is the default of REQUEST_TIMEOUT. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const PLANTS = [1, 2, 5, 10, 20, 50, 100, 200, MAX_BATCH_PLANTS];
const ERRORS = [0, ...Object.keys(ERROR_CATALOGUE)].map(Number);
const WRONG_TOKEN = [40101, 40102];

/** The metrics of the service and its process, for Prometheus. */
@Injectable()
export class Metrics implements ResponseHook {
  private readonly registry = new Registry();
  private readonly answers = this.counter(
    'requests_total',
    'Answers to creates, and refusals, by error number; 0 is success.',
    ['error'],
  );
  private readonly durations = this.histogram(
    'request_duration_seconds',
    'From the headers of a request to its answer.',
    SECONDS,
    ['outcome'],
  );
  private readonly refusals = this.durations.labels('refused');
  private readonly wrongTokens = this.counter('wrong_tokens_total', 'Requests that were refused for their token.');
  private readonly ready = this.gauge('ready', '1 if /readyz answers 200, else 0.');
  /** What an answer of each number counts in. Finding it by its labels would take longer. */
  private readonly byError = new Map(
    ERRORS.map((error) => {
      const outcome = error === 0 ? 'success' : isServiceFailure(error) ? 'failed' : 'refused';
      return [error, { answers: this.answers.labels(String(error)), durations: this.durations.labels(outcome) }];
    }),
  );

  private isMonitoring = false;

  /** It reads the counters when it is asked, and observes each statement and each wait for a connection. */
  constructor(plants: WriteStatistics, pool: StorePool, tokens: IssuedTokenVerifier) {
    for (const { answers } of this.byError.values()) answers.inc(0);
    for (const outcome of ['success', 'refused', 'failed']) this.durations.zero({ outcome });
    this.gauge('token_expires_seconds', 'Until the first of the tokens in use ends.', () => tokens.secondsToNextExpiry);
    this.counter('plants_created_total', 'Plants that were created.', [], () => plants.created);
    this.gauge('creates_waiting', 'Creates that wait for a statement.', () => plants.countWaiting());
    this.gauge('creates_in_flight', 'Creates whose statement is in flight.', () => plants.inFlight);
    this.gauge('database_connections_in_use', 'Connections in use.', () => pool.connectionsInUse);
    const sizes = this.histogram('statement_plants', 'Plants in a statement.', PLANTS);
    const times = this.histogram('statement_duration_seconds', 'Time of a statement.', SECONDS);
    const waits = this.histogram('database_connection_wait_seconds', 'Waits for a connection.', SECONDS);
    plants.observeStatement = (count, milliseconds) => {
      sizes.observe(count);
      times.observe(milliseconds / 1000);
    };
    pool.observeWait = (milliseconds) => {
      waits.observe(milliseconds / 1000);
    };
  }

  beforeHead(response: ServerResponse, durationMs: number): void {
    const { error, plantId } = requestContext(response);
    // No plant was created: the documentation was read, or a route of another module was used.
    if (error === 0 && plantId === undefined) return;
    // Strangers can send JWTs with unknown keys. These are 50300 for a moment, which is no failure of the service.
    const isWrongToken = WRONG_TOKEN.includes(error) || refusalOf(response.req) !== undefined;
    const counted = this.byError.get(error);
    counted?.answers.inc();
    (isWrongToken ? this.refusals : counted?.durations)?.observe(durationMs / 1000);
    if (isWrongToken) this.wrongTokens.inc();
  }

  /** All metrics, with those of memory, CPU, garbage collection and the event loop, in the format of Prometheus. */
  async expose(isReady: boolean): Promise<{ type: string; text: string }> {
    // Their monitors take CPU time, so the first scrape starts them.
    if (!this.isMonitoring) collectDefaultMetrics({ register: this.registry });
    this.isMonitoring = true;
    this.ready.set(Number(isReady));
    return { type: this.registry.contentType, text: await this.registry.metrics() };
  }

  private counter(name: string, help: string, labelNames: string[] = [], read?: () => number): Counter {
    const collect = function (this: Counter): void {
      this.reset();
      this.inc(read?.());
    };
    const registers = [this.registry];
    return new Counter({ name: `plant_store_${name}`, help, labelNames, registers, ...(read && { collect }) });
  }

  private gauge(name: string, help: string, read?: () => number): Gauge {
    const collect = function (this: Gauge): void {
      this.set(read?.() ?? 0);
    };
    return new Gauge({ name: `plant_store_${name}`, help, registers: [this.registry], ...(read && { collect }) });
  }

  private histogram(name: string, help: string, buckets: number[], labelNames: string[] = []): Histogram {
    return new Histogram({ name: `plant_store_${name}`, help, buckets, labelNames, registers: [this.registry] });
  }
}
