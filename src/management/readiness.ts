import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PlantsHealth } from '../plants/plants.health.js';
import { reasonOf, rootReasonOf } from '../util/text.js';

/** Whether requests may be sent to this process. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  private readonly logger = new Logger(Readiness.name);
  private stopping = false;
  /** Reasons that were logged since the store last worked. */
  private readonly logged = new Set<string>();

  constructor(
    @Inject(PlantsHealth) private readonly health: Pick<PlantsHealth, 'check' | 'degradation'>,
    private readonly publicListener: HttpAdapterHost,
  ) {}

  /** The reason why the process is not ready; undefined if it is ready. */
  async findObstacle(): Promise<string | undefined> {
    const obstacle = this.findOwnObstacle();
    if (obstacle !== undefined) return obstacle;
    let failure: Error | undefined;
    try {
      await this.health.check();
    } catch (error) {
      failure = error as Error;
    }
    // A shutdown may have begun meanwhile.
    const later = this.findOwnObstacle();
    if (later !== undefined) return later;
    const reason = failure && reasonOf(failure);
    if (reason === undefined) {
      if (this.logged.size > 0) this.logger.log('The service is ready again');
      this.logged.clear();
    } else if (!this.logged.has(reason)) {
      this.logged.add(reason);
      // What the server or the network said is for the log alone.
      const reasons = new Set([reason, rootReasonOf(failure)]);
      this.logger.warn(`The service is not ready: ${[...reasons].join(': ')}`);
    }
    return reason;
  }

  /** What does not work although the process is ready, as `findObstacle` found it last. */
  get degradation(): string | undefined {
    return this.health.degradation;
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  private findOwnObstacle(): string | undefined {
    if (this.stopping) return 'the service is shutting down';
    if (!this.publicListener.listening) return 'the service is starting';
    return undefined;
  }
}
