import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AppOptions } from '../app/app.module.js';
import { withinTime } from '../util/timing.js';
import type { PrimaryMessage, WorkerMessage, WorkerQuestion, WorkerQuestions } from './worker-messages.js';
import { WorkerStartError } from './worker-start.error.js';

const MAIN = fileURLToPath(new URL('./worker-main.js', import.meta.url));

/** For what a worker said before its end to arrive. */
const LAST_WORDS_MS = 200;
const CLEAN_EXIT = 'ended with code 0';

export interface WorkerEnd {
  /** Whether it ended by itself and without a failure. */
  clean: boolean;
  /** What became of which, in words. */
  how: string;
  /** For how many milliseconds it had been listening. */
  served: number;
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
  /** Whether it has ended. */
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
        reject(new WorkerStartError(this.failure ?? `plant-store: ${how} while it started`));
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

  /** Rejects where it does not answer in time. */
  async ask<Question extends WorkerQuestion>(
    question: Question,
    milliseconds: number,
  ): Promise<WorkerQuestions[Question]> {
    const id = this.asked++;
    const answer = new Promise<WorkerQuestions[Question]>((resolve, reject) => {
      this.questions.set(id, { resolve: resolve as PendingQuestion['resolve'], reject });
      this.tell({ type: 'ask', id, question });
    });
    const timeUp = (): Error => new Error(`${this.name} did not answer within ${milliseconds} ms`);
    try {
      return await withinTime(answer, milliseconds, timeUp);
    } finally {
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
    const disconnected = new Promise<void>((resolve) => {
      worker.on('disconnect', resolve);
    });
    const exit = await new Promise<string>((resolve) => {
      worker.on('exit', (code, signal) => {
        // The types promise a signal; there is none where it ended by itself.
        resolve((signal as string | null) === null ? `ended with code ${code}` : `was ended by ${signal}`);
      });
      worker.on('error', ({ message }) => {
        // Others are of messages to one that is ending just now.
        if (worker.process.pid === undefined) resolve(`could not be started (${message})`);
      });
    });
    const served = this.listeningSince === undefined ? 0 : performance.now() - this.listeningSince;
    this.isGone = true;
    for (const { reject } of this.questions.values()) reject(new Error(`${this.name} has ended`));
    // What it said last may arrive after its exit, but not after the end of the connection.
    const heard = await Promise.race([disconnected.then(() => true), setTimeout(LAST_WORDS_MS, false)]);
    // Where it was killed while a connection was handed over to it, Node keeps waiting for its receipt: the worker would count as
    // connected for ever, and the port would stay open, and this process alive, after the end of all others.
    if (!heard) worker.disconnect();
    const how = this.failure === undefined ? exit : `could not start (${this.failure})`;
    return { clean: exit === CLEAN_EXIT, how: `${this.name} ${how}`, served };
  }

  private tell(message: PrimaryMessage): void {
    // One that has just ended can't be told anything, and need not be.
    if (this.worker.isConnected()) this.worker.send(message, () => undefined);
  }
}
