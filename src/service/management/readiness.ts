import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PlantsHealth } from '../../plants/plants.health.js';
import { reasonOf, rootReasonOf } from '../../util/text.js';

/** What `/readyz` answers. `degraded`: ready, but something does not work. */
interface ReadinessState {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly reason?: string;
}

/** Whether requests may be sent to this process. */
@Injectable()
export class Readiness implements OnModuleDestroy {
  private readonly logger = new Logger(Readiness.name);
  private isStopping = false;
  /** The reason that was logged last; undefined while plants can be created. */
  private logged: string | undefined;

  constructor(
    private readonly health: PlantsHealth,
    private readonly publicListener: HttpAdapterHost,
  ) {}

  async state(): Promise<ReadinessState> {
    const check = this.whyClosed() === undefined ? this.health.check() : Promise.resolve();
    const failure = await check.then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    // Asked again: a stop may have begun meanwhile.
    const closed = this.whyClosed();
    if (closed !== undefined) return { status: 'unavailable', reason: closed };
    const reason = failure && reasonOf(failure);
    if (reason !== this.logged) {
      this.logged = reason;
      // What the server or the network said is for the log alone.
      if (failure)
        this.logger.warn(`The service is not ready: ${[...new Set([reason, rootReasonOf(failure)])].join(': ')}`);
      else this.logger.log('The service is ready again');
    }
    if (reason !== undefined) return { status: 'unavailable', reason };
    const { degradation } = this.health;
    return degradation === undefined ? { status: 'ok' } : { status: 'degraded', reason: degradation };
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  private whyClosed(): string | undefined {
    if (this.isStopping) return 'the service is shutting down';
    return this.publicListener.listening ? undefined : 'the service is starting';
  }
}
