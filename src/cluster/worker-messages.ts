import type { AppOptions } from '../app/app.module.js';
import type { MetricsSnapshot } from '../management/metrics-snapshot.js';

/** What the primary process may ask a worker, and the answer to each question. */
export interface WorkerQuestions {
  /** Why it is not ready, empty where it is. */
  obstacle: string;
  metrics: MetricsSnapshot;
}

export type WorkerQuestion = keyof WorkerQuestions;

/** From the primary process to a worker. */
export type PrimaryMessage =
  { type: 'start'; options: AppOptions } | { type: 'ask'; id: number; question: WorkerQuestion } | { type: 'stop' };

/** From a worker to the primary process. */
export type WorkerMessage =
  | { type: 'loaded' }
  | { type: 'listening'; url: string }
  | { type: 'failed'; reason: string }
  | { type: 'answer'; id: number; answer: WorkerQuestions[WorkerQuestion] }
  | { type: 'no answer'; id: number; reason: string };
