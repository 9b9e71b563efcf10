import { readdirSync, readFileSync } from 'node:fs';

/** What Linux counts CPU time in for every program, whatever the kernel's own clock. */
export const TICKS_PER_SECOND = 100;

interface ProcessTimes {
  readonly parent: number;
  /** Its own, and that of children it has outlived: the children's would be lost otherwise. */
  readonly ticks: number;
}

/** Processes and their descendants, as Linux tells of them in /proc; elsewhere nothing is known. */
export class ProcessTree {
  private readonly roots: readonly number[];

  constructor(...roots: number[]) {
    this.roots = roots;
  }

  /** Of one process and the children it has outlived, but not of those that run. */
  static cpuSecondsOf(pid: number): number | undefined {
    const times = readProcess(pid);
    return times && times.ticks / TICKS_PER_SECOND;
  }

  /** CPU seconds used so far; undefined where there is no /proc. */
  cpuSeconds(): number | undefined {
    const processes = readProcesses();
    const tree = this.members(processes);
    if (tree.length === 0) return undefined;
    return tree.reduce((sum, pid) => sum + (processes.get(pid)?.ticks ?? 0), 0) / TICKS_PER_SECOND;
  }

  /** The sum of each process's own peak of resident memory, in bytes; undefined where there is no /proc. */
  peakMemory(): number | undefined {
    const tree = this.members(readProcesses());
    const peaks = tree.map((pid) => /^VmHWM:\s*(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1]);
    return tree.length === 0 ? undefined : peaks.reduce((sum, kilobytes) => sum + Number(kilobytes ?? 0) * 1024, 0);
  }

  private members(processes: ReadonlyMap<number, ProcessTimes>): number[] {
    const tree = this.roots.filter((root) => processes.has(root));
    for (const pid of tree) {
      for (const [child, { parent }] of processes) if (parent === pid) tree.push(child);
    }
    return tree;
  }
}

function readProcesses(): ReadonlyMap<number, ProcessTimes> {
  const processes = new Map<number, ProcessTimes>();
  for (const name of readFolder('/proc')) {
    const times = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (times) processes.set(Number(name), times);
  }
  return processes;
}

function readProcess(pid: number): ProcessTimes | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === '') return undefined;
  // Counted from behind the name, which may hold spaces and brackets: state, parent, …; from the 12th on utime, stime, cutime, cstime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), ticks };
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Empty where the process has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
