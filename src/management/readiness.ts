import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PlantsHealth } from '../plants/plants-health.js';
import { reasonOf } from '../util/text.js';

/** Whether requests may be sent to this process. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  private stopping = false;

  constructor(
    @Inject(PlantsHealth) private readonly health: Pick<PlantsHealth, 'check'>,
    private readonly publicListener: HttpAdapterHost,
  ) {}

  /** The reason why the process is not ready; undefined if it is ready. */
  async findObstacle(): Promise<string | undefined> {
    const obstacle = this.findOwnObstacle();
    if (obstacle !== undefined) return obstacle;
    try {
      await this.health.check();
    } catch (error) {
      return reasonOf(error);
    }
    // A shutdown may have begun meanwhile.
    return this.findOwnObstacle();
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
