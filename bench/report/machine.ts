import { cpus, totalmem } from 'node:os';

/** Without it the absolute figures mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GiB, ${process.platform}, Node.js ${process.version}.`;
}
