import { Logger } from '@nestjs/common';
import type { Server, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { ERROR_CATALOGUE, isServiceFailure } from '../errors/error-catalogue.js';
import { notesOf, type RequestObserver } from '../http/request-notes.js';
import { Histogram } from '../plants/plants-statistics.js';

/** What the clients of the public listener asked for and got, since the process started. */
export class ClientStatistics implements RequestObserver {
  /** Time to an answer, by its outcome. */
  readonly durations = {
    success: Histogram.ofSeconds(),
    refused: Histogram.ofSeconds(),
    failed: Histogram.ofSeconds(),
  };
  /** Connections that were closed at once because too many were open. */
  refusedConnections = 0;
  private readonly logger = new Logger('PlantStore');
  private readonly refusals = new Map(Object.keys(ERROR_CATALOGUE).map((error) => [Number(error), 0]));
  private server: Server | undefined;

  /** Answers by the number of the catalogue; 0 for all that are no failure. */
  get answers(): [error: number, answers: number][] {
    return [[0, this.durations.success.count], ...this.refusals];
  }

  get maxConnections(): number {
    return this.server?.maxConnections ?? 0;
  }

  answered(response: ServerResponse, durationMs: number): void {
    const { error } = notesOf(response);
    const { success, refused, failed } = this.durations;
    const durations = error === 0 ? success : isServiceFailure(error) ? failed : refused;
    durations.observe(durationMs / 1000);
    if (error !== 0) this.refusals.set(error, (this.refusals.get(error) ?? 0) + 1);
  }

  /** Also counts the connections of this server, which is not listening yet. */
  watch(server: Server): void {
    this.server = server;
    server.on('drop', () => {
      this.refusedConnections += 1;
      const open = `${this.maxConnections} are open, as many as MAX_CONNECTIONS allows`;
      this.logger.warn(`A client connection was refused: ${open}`);
    });
  }

  /** How many client connections are open. */
  async countConnections(): Promise<number> {
    return this.server === undefined ? 0 : promisify(this.server.getConnections.bind(this.server))();
  }
}
