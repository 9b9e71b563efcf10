import 'reflect-metadata';

import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import cluster from 'node:cluster';
import type { AppOptions } from '../app/app.module.js';
import { describeFailure } from '../cli/describe-failure.js';
import { Environment } from '../app/config.js';
import { reasonOf } from '../util/text.js';
import { Readiness } from '../management/readiness.js';
import { StoreMetrics } from '../management/store-metrics.js';
import { startApp } from '../app/create-app.js';
import type { PrimaryMessage, WorkerMessage, WorkerQuestion, WorkerQuestions } from './worker-messages.js';

/** The service in a worker process, which does what the primary process tells it. */
export class ServingWorker {
  private app: Promise<NestExpressApplication> | undefined;
  private stopping: Promise<void> | undefined;

  static run(): void {
    const worker = new ServingWorker();
    // Or Node ends this process together with the primary one, under the requests in flight.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
    process.on('disconnect', () => {
      worker.outlive();
    });
    process.on('message', (message: PrimaryMessage) => {
      worker.obey(message);
    });
    // What was sent before would be lost.
    tell({ type: 'loaded' });
  }

  private obey(message: PrimaryMessage): void {
    switch (message.type) {
      case 'start':
        void this.start(message.options);
        break;
      case 'ask':
        void this.answer(message.id, message.question);
        break;
      case 'stop':
        this.stop();
        break;
    }
  }

  private async start(options: AppOptions): Promise<void> {
    try {
      this.app = startApp(Object.assign(new Environment(), options, { worker: true }));
      const url = await (await this.app).getUrl();
      tell({ type: 'listening', url });
    } catch (error) {
      process.exitCode = 1;
      this.stopping = Promise.resolve();
      tell({ type: 'failed', reason: describeFailure(error) }, leave);
    }
  }

  private async answer(id: number, question: WorkerQuestion): Promise<void> {
    try {
      tell({ type: 'answer', id, answer: await this.find(question) });
    } catch (error) {
      tell({ type: 'no answer', id, reason: reasonOf(error) });
    }
  }

  private async find(question: WorkerQuestion): Promise<WorkerQuestions[WorkerQuestion]> {
    const app = await this.app;
    if (app === undefined) throw new Error('it was not told to start');
    switch (question) {
      case 'obstacle':
        return (await app.get(Readiness, { strict: false }).findObstacle()) ?? '';
      case 'metrics':
        return await app.get(StoreMetrics, { strict: false }).snapshot();
    }
  }

  private stop(): void {
    this.stopping ??= this.close();
  }

  /** The primary process is gone, and with it the port: what is in flight is answered all the same. */
  private outlive(): void {
    if (this.stopping) return;
    new Logger('PlantStore').warn('The primary process has ended; requests in flight are answered first');
    this.stop();
  }

  private async close(): Promise<void> {
    const app = await this.app?.catch(() => undefined);
    try {
      await app?.close();
    } catch (error) {
      console.error(describeFailure(error));
      process.exitCode = 1;
    }
    leave();
  }
}

function tell(message: WorkerMessage, told: () => void = () => undefined): void {
  // Where the primary process is gone, nobody listens.
  if (process.connected) process.send?.(message, undefined, undefined, told);
  else told();
}

/** The connection would keep this process alive. */
function leave(): void {
  if (process.connected) process.disconnect();
}
