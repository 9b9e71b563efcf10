import { Logger } from '@nestjs/common';
import { RateCounter, type RequestCount } from '../auth/limits/rate-counter.js';

/** A request should wait for the storage, and hardly for this. */
const ANSWER_TIMEOUT_MS = 1000;

interface Waiting {
  readonly key: string;
  readonly resolve: (count: RequestCount | undefined) => void;
}

/**
 * Has the primary process count the requests of a worker, together with those of the others. One message is under way at a time,
 * and those that come meanwhile form the next one. While no answer comes, requests pass uncounted and without waiting: a limit
 * must not become an outage.
 */
export class PrimaryRateCounter extends RateCounter {
  private readonly logger = new Logger('RateLimit');
  private waiting: Waiting[] = [];
  private underWay: Waiting[] | undefined;
  private timer: NodeJS.Timeout | undefined;
  private silent = false;

  constructor(private readonly ask: (keys: string[]) => void) {
    super();
  }

  count(key: string): Promise<RequestCount | undefined> {
    if (this.silent) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.waiting.push({ key, resolve });
      this.askNext();
    });
  }

  /** Takes the primary's answer to what it was asked, however late: from then on requests are counted again. */
  settle(counts: RequestCount[]): void {
    const answered = this.underWay ?? [];
    clearTimeout(this.timer);
    this.underWay = undefined;
    this.silent = false;
    for (const [index, { resolve }] of answered.entries()) resolve(counts[index]);
    this.askNext();
  }

  /** No more answers will come. */
  abandon(): void {
    clearTimeout(this.timer);
    this.silent = true;
    // What is under way stays so, as it may still be answered.
    for (const { resolve } of [...(this.underWay ?? []), ...this.waiting]) resolve(undefined);
    this.waiting = [];
  }

  private askNext(): void {
    if (this.underWay !== undefined || this.waiting.length === 0) return;
    this.underWay = this.waiting;
    this.waiting = [];
    this.timer = setTimeout(() => {
      this.logger.warn(
        `The primary process did not count requests within ${ANSWER_TIMEOUT_MS} ms: they pass until it does`,
      );
      this.abandon();
    }, ANSWER_TIMEOUT_MS);
    this.ask(this.underWay.map(({ key }) => key));
  }
}
