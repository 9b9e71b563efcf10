import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';
import type { AppOptions } from '../app/app.module.js';
import type { MemoryRateCounter } from '../auth/limits/memory-rate-counter.js';
import { closeTimeout } from '../app/create-app.js';
import { reasonOf } from '../util/text.js';
import { LONGEST_TIMER } from '../http/server/connection-close.js';
import { RestartBackoff } from './restart-backoff.js';
import { type WorkerEnd, WorkerProcess } from './worker-process.js';

/** Longer than a worker takes to end when all its requests are answered or given up. */
const STOP_MARGIN_MS = 5000;

/** Keeps as many workers running as there are to be. */
export class WorkerPool implements BeforeApplicationShutdown {
  /** How many workers were started in the place of another. */
  restarts = 0;
  private readonly logger = new Logger('Workers');
  private readonly stopping = new AbortController();
  private readonly workers: WorkerProcess[] = [];
  private watches: Promise<void>[] = [];

  /**
   * @param publicListener told when all workers listen: what it stands for is theirs
   * @param rateCounter of all workers together, where there is a limit
   */
  constructor(
    private readonly options: AppOptions,
    private readonly publicListener: HttpAdapterHost,
    private readonly rateCounter?: MemoryRateCounter,
  ) {}

  /** How many workers there are to be. */
  get size(): number {
    return 1;
  }

  get serving(): WorkerProcess[] {
    return this.workers.filter((worker) => worker.serves);
  }

  /** Resolves to their URL when all listen, and rejects with a WorkerStartError when the first of them can't. */
  async start(): Promise<string> {
    const workers = Array.from({ length: this.size }, (_, index) => this.fork(index + 1));
    const [url = ''] = await Promise.all(workers.map(({ listening }) => listening));
    this.watches = workers.map((worker) => this.watch(worker));
    this.publicListener.listening = true;
    return url;
  }

  /** Lets all of them answer their requests in flight, and resolves when they have ended. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    const stopped = new AbortController();
    void this.killLate(stopped.signal);
    for (const worker of this.workers) worker.stop();
    await Promise.all([...this.workers.map(({ ended }) => ended), ...this.watches]);
    stopped.abort();
  }

  /** Ends all of them at once. */
  kill(): void {
    for (const worker of this.workers) worker.kill();
  }

  private fork(place: number): WorkerProcess {
    const worker = WorkerProcess.start(place, this.options, this.rateCounter);
    this.workers[place - 1] = worker;
    return worker;
  }

  /** Replaces a worker that ends, and the one that replaced it, until the service stops. */
  private async watch({ place, ended }: WorkerProcess): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new RestartBackoff();
    let end = await ended;
    while (!signal.aborted) {
      const pause = backoff.pause(end.served);
      this.logger.warn(`${capitalized(end.how)}; the next one starts in ${pause} ms`);
      if (!(await passed(pause, signal))) return;
      end = await this.replace(place);
    }
    if (!end.clean) this.logger.warn(`While stopping, ${end.how}`);
  }

  /** Starts another one in this place, and resolves to how that one has ended. */
  private async replace(place: number): Promise<WorkerEnd> {
    try {
      this.restarts += 1;
      const { listening, name, ended } = this.fork(place);
      // Where it does not come to listen, it ends.
      listening.then(
        (url) => {
          this.logger.log(`${capitalized(name)} listens on ${url}`);
        },
        () => undefined,
      );
      return await ended;
    } catch (error) {
      // The machine has no room for another process just now.
      return { clean: false, how: `worker ${place} could not be started (${reasonOf(error)})`, served: 0 };
    }
  }

  private async killLate(stopped: AbortSignal): Promise<void> {
    if (!(await passed(Math.min(closeTimeout(this.options) + STOP_MARGIN_MS, LONGEST_TIMER), stopped))) return;
    for (const worker of this.workers) {
      if (!worker.isGone) this.logger.warn(`${capitalized(worker.name)} does not stop, and is killed`);
    }
    this.kill();
  }
}

/** Resolves to whether the time passed before the signal came. */
async function passed(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
