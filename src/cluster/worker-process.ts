import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AppOptions } from '../app.module.js';
import type { PrimaryMessage, WorkerMessage, WorkerQuestion, WorkerQuestions } from './worker-messages.js';
import { WorkerStartError } from './worker-start.error.js';

const MAIN = fileURLToPath(new URL('./worker-main.js', import.meta.url));

export interface WorkerEnd {
  /** Whether it ended by itself and without a failure. */
  clean: boolean;
  /** What became of it, in words. */
  how: string;
}

interface PendingQuestion {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** A worker as the primary process sees it, from its start to its end. */
export class WorkerProcess {
  /** Resolves to its URL once it listens, and rejects with a WorkerStartError where it ends before. */
  readonly listening: Promise<string>;
  readonly ended: Promise<WorkerEnd>;
  private readonly questions = new Map<number, PendingQuestion>();
  private asked = 0;
  private failure: string | undefined;
  private stopped = false;
  private listeningSince: number | undefined;
  /** Whether it has ended, or can no longer be reached. */
  isGone = false;

  private constructor(
    private readonly worker: Worker,
    /** Its place among the workers, from 1 on: the same for the one that follows it. */
    readonly place: number,
    options: AppOptions,
  ) {
    worker.on('message', (message: WorkerMessage) => {
      // In a message: the variables and arguments of a process can be read from outside.
      if (message.type === 'loaded') this.tell(this.stopped ? { type: 'stop' } : { type: 'start', options });
      if (message.type === 'answer') this.questions.get(message.id)?.resolve(message.answer);
      if (message.type === 'no answer') this.questions.get(message.id)?.reject(new Error(message.reason));
      if (message.type === 'failed') this.failure = message.reason;
    });
    this.ended = this.end();
    this.listening = new Promise((resolve, reject) => {
      worker.on('message', (message: WorkerMessage) => {
        if (message.type !== 'listening') return;
        this.listeningSince = performance.now();
        resolve(message.url);
      });
      void this.ended.then(({ how }) => {
        reject(new WorkerStartError(this.failure ?? `plant-store: ${this.name} ${how} while it started`));
      });
    });
    // Not everybody waits for it.
    this.listening.catch(() => undefined);
  }

  static start(place: number, options: AppOptions): WorkerProcess {
    cluster.setupPrimary({ exec: MAIN, args: [] });
    return new WorkerProcess(cluster.fork(), place, options);
  }

  get name(): string {
    return `worker ${this.place} (process ${this.worker.process.pid ?? 'none'})`;
  }

  get serves(): boolean {
    return this.listeningSince !== undefined && !this.isGone;
  }

  /** For how many milliseconds it has been listening. */
  get served(): number {
    return this.listeningSince === undefined ? 0 : performance.now() - this.listeningSince;
  }

  /** Rejects where it does not answer in time. */
  async ask<Question extends WorkerQuestion>(
    question: Question,
    milliseconds: number,
  ): Promise<WorkerQuestions[Question]> {
    const id = this.asked++;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.questions.set(id, { resolve: resolve as PendingQuestion['resolve'], reject });
        timer = setTimeout(() => {
          reject(new Error(`${this.name} did not answer within ${milliseconds} ms`));
        }, milliseconds);
        this.tell({ type: 'ask', id, question });
      });
    } finally {
      clearTimeout(timer);
      this.questions.delete(id);
    }
  }

  /** Lets it answer its requests in flight and end. */
  stop(): void {
    this.stopped = true;
    this.tell({ type: 'stop' });
  }

  kill(): void {
    this.worker.process.kill('SIGKILL');
  }

  private async end(): Promise<WorkerEnd> {
    const { worker } = this;
    const gone = (): void => {
      this.isGone = true;
      for (const { reject } of this.questions.values()) reject(new Error(`${this.name} has ended`));
    };
    worker.on('exit', gone).on('disconnect', gone).on('error', gone);
    try {
      // What it said last may arrive after its exit, but not after the end of the connection.
      const [[code, signal]] = (await Promise.all([once(worker, 'exit'), once(worker, 'disconnect')])) as [
        [number | null, NodeJS.Signals | null],
        unknown,
      ];
      if (this.failure !== undefined) return { clean: false, how: `could not start (${this.failure})` };
      return { clean: code === 0, how: signal === null ? `ended with code ${code ?? 0}` : `was ended by ${signal}` };
    } catch (error) {
      return { clean: false, how: `could not be started (${(error as Error).message})` };
    }
  }

  private tell(message: PrimaryMessage): void {
    // One that has just ended can't be told anything, and need not be.
    if (this.worker.isConnected()) this.worker.send(message, () => undefined);
  }
}
