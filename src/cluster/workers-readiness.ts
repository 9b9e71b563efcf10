import { Injectable } from '@nestjs/common';
import { ReadinessCheck } from '../management/readiness.js';
import { reasonOf } from '../util/text.js';
import { WorkerPool } from './worker-pool.js';
import type { WorkerProcess } from './worker-process.js';

/** Longer than a worker's own check may take, so that it is the worker who tells what is wrong. */
const ANSWER_TIMEOUT_MS = 3000;

/** Ready means that at least one worker serves and finds itself ready: those that can't are replaced meanwhile. */
@Injectable()
export class WorkersReadiness extends ReadinessCheck {
  constructor(private readonly pool: WorkerPool) {
    super();
  }

  async check(): Promise<void> {
    const { serving, size } = this.pool;
    if (serving.length === 0) throw new Error(`none of ${size} workers serves`);
    try {
      await Promise.any(serving.map(checkOne));
    } catch (error) {
      throw new Error(reasonOf((error as AggregateError).errors[0]), { cause: error });
    }
  }

  override details(): object {
    return { workers: { serving: this.pool.serving.length, configured: this.pool.size } };
  }
}

async function checkOne(worker: WorkerProcess): Promise<void> {
  const obstacle = await worker.ask('obstacle', ANSWER_TIMEOUT_MS);
  if (obstacle !== '') throw new Error(obstacle);
}
