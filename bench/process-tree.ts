import { readdirSync, readFileSync } from 'node:fs';

/** The unit in which Linux counts the time of ended processes, with any clock of the kernel. */
const MICROSECONDS_OF_A_TICK = 10_000;

/** Processes and their descendants, as Linux tells of them in /proc; elsewhere nothing is known. */
export class ProcessTree {
  private readonly roots: readonly number[];

  constructor(...roots: number[]) {
    this.roots = roots;
  }

  /**
   * Microseconds of CPU time used so far, by ended descendants too; undefined if there is no /proc. What runs is counted by the
   * scheduler, as the usual counters move by a hundredth of a second.
   */
  cpuTime(): number | undefined {
    const members = this.members();
    if (members.length === 0) return undefined;
    return members.reduce((sum, { pid, endedChildren }) => sum + endedChildren + timeOfThreads(pid), 0);
  }

  /** The sum of each process's own peak of resident memory, in bytes; undefined if there is no /proc. */
  peakMemory(): number | undefined {
    const members = this.members();
    const peaks = members.map(({ pid }) => /^VmHWM:\s*(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1]);
    return members.length === 0 ? undefined : peaks.reduce((sum, kilobytes) => sum + Number(kilobytes ?? 0) * 1024, 0);
  }

  private members(): Process[] {
    const processes = readFolder('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []));
    const tree = processes.filter(({ pid }) => this.roots.includes(pid));
    for (const { pid } of tree) tree.push(...processes.filter(({ parent }) => parent === pid));
    return tree;
  }
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Microseconds of CPU time of the children that it has outlived. */
  readonly endedChildren: number;
}

/** None if it has just ended. */
function readProcess(pid: number): Process[] {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === '') return [];
  // Counted from behind the name, which may hold spaces and brackets: state, parent, …; the 14th and 15th are cutime and cstime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[13]) + Number(fields[14]);
  return [{ pid, parent: Number(fields[1]), endedChildren: ticks * MICROSECONDS_OF_A_TICK }];
}

function timeOfThreads(pid: number): number {
  const nanoseconds = readFolder(`/proc/${pid}/task`).map((task) =>
    Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ', 1)[0]),
  );
  return nanoseconds.reduce((sum, time) => sum + time, 0) / 1000;
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Empty if the process has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
