import type { ServerResponse } from 'node:http';
import { ERROR_CATALOGUE, isServiceFailure } from '../errors/error-catalogue.js';
import { requestContext, type RequestObserver } from '../http/request-context.js';
import { Histogram } from '../plants/plants.metrics.js';

/** What the clients of the public listener asked for and got, since the process started. */
export class ClientStatistics implements RequestObserver {
  /** Time to an answer, by its outcome. */
  readonly durations = {
    success: Histogram.ofSeconds(),
    refused: Histogram.ofSeconds(),
    failed: Histogram.ofSeconds(),
  };
  private readonly refusals = new Map(Object.keys(ERROR_CATALOGUE).map((error) => [Number(error), 0]));

  /** Answers by the number of the catalogue; 0 for all that are no failure. */
  get answers(): [error: number, answers: number][] {
    return [[0, this.durations.success.count], ...this.refusals];
  }

  answered(response: ServerResponse, durationMs: number): void {
    const { error } = requestContext(response);
    const { success, refused, failed } = this.durations;
    const durations = error === 0 ? success : isServiceFailure(error) ? failed : refused;
    durations.observe(durationMs / 1000);
    if (error !== 0) this.refusals.set(error, (this.refusals.get(error) ?? 0) + 1);
  }
}
