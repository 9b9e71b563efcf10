import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns a function that says how many microseconds of CPU time a process and its descendants have used since this
 * call; what has ended in between is left out. The scheduler counts exactly, the usual counters in hundredths of a
 * second. NaN where there is no /proc.
 */
export function startCpuClock(pid: number): () => number {
  const before = timesOfThreads(pid);
  return () => {
    const nanoseconds = Array.from(timesOfThreads(pid), ([thread, time]) => time - (before.get(thread) ?? 0));
    return before.size === 0 ? NaN : nanoseconds.reduce((sum, time) => sum + time, 0) / 1000;
  };
}

function timesOfThreads(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  const members = [String(pid)];
  for (const member of members) {
    const folder = `/proc/${member}/task`;
    try {
      for (const thread of readdirSync(folder)) {
        times.set(`${folder}/${thread}`, parseInt(readFileSync(`${folder}/${thread}/schedstat`, 'utf8'), 10));
        members.push(...(readFileSync(`${folder}/${thread}/children`, 'utf8').match(/\d+/g) ?? []));
      }
    } catch {
      // It has just ended.
    }
  }
  return times;
}
