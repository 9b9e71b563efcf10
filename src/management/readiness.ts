import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { withinTime } from '../util/timing.js';
import { type ManagementOptions, MANAGEMENT_OPTIONS } from './management.options.js';

/** Tells whether what the service depends on can be used now. */
export abstract class ReadinessCheck {
  /**
   * Rejects with an error whose message is the reason, fit to be shown: it holds no secret.
   * It must settle some time: no second check starts before it has.
   */
  abstract check(): Promise<void>;

  /** What else an answer tells, ready or not. */
  details(): object {
    return {};
  }
}

/** Whether requests may be sent to this process. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  private stopping = false;
  private running: Promise<void> | undefined;

  constructor(
    @Inject(MANAGEMENT_OPTIONS) private readonly options: ManagementOptions,
    private readonly readinessCheck: ReadinessCheck,
    private readonly publicListener: HttpAdapterHost,
  ) {}

  /** The reason why the process is not ready, nothing when it is. */
  async findObstacle(): Promise<string | undefined> {
    const obstacle = this.findOwnObstacle();
    if (obstacle !== undefined) return obstacle;
    const { checkTimeout = 2000 } = this.options;
    const timeUp = (): Error => new Error(`the check did not end within ${checkTimeout} ms`);
    try {
      await withinTime(this.check(), checkTimeout, timeUp);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    // A shutdown may have begun meanwhile.
    return this.findOwnObstacle();
  }

  /** What else there is to tell, ready or not. */
  details(): object {
    return this.readinessCheck.details();
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  private findOwnObstacle(): string | undefined {
    if (this.stopping) return 'the service is shutting down';
    if (!this.publicListener.listening) return 'the service is starting';
    return undefined;
  }

  // Whoever asks while a check runs shares it: many probes of a slow database must not make it slower.
  private check(): Promise<void> {
    this.running ??= this.readinessCheck.check().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }
}
