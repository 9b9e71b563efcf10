import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PlantsHealth } from '../plants/plants-health.js';
import { withinTime } from '../util/timing.js';

/** Whether requests may be sent to this process. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  /** Milliseconds that the database may take to answer before the service counts as unavailable. */
  checkTimeout = 2000;
  private stopping = false;
  private running: Promise<void> | undefined;

  constructor(
    @Inject(PlantsHealth) private readonly health: Pick<PlantsHealth, 'check'>,
    private readonly publicListener: HttpAdapterHost,
  ) {}

  /** The reason why the process is not ready; undefined if it is ready. */
  async findObstacle(): Promise<string | undefined> {
    const obstacle = this.findOwnObstacle();
    if (obstacle !== undefined) return obstacle;
    const { checkTimeout } = this;
    const timeUp = (): Error => new Error(`the check did not end within ${checkTimeout} ms`);
    try {
      await withinTime(this.check(), checkTimeout, timeUp);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
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

  /** Probes that arrive while a check runs share it: many probes of a slow database must not make it slower. */
  private check(): Promise<void> {
    this.running ??= this.health.check().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }
}
