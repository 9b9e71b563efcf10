import { readFileSync } from 'node:fs';
import type { Contender } from './contender.js';
import { ProcessTree, TICKS_PER_SECOND } from './process-tree.js';

/** CPU seconds. What there is no /proc for, or no process, is undefined. */
export interface CpuTimes {
  readonly server: number | undefined;
  readonly database: number | undefined;
  /** Of this process, with the programs that it has run to their end. */
  readonly generator: number | undefined;
  /** Of everything on this machine, with what its host has taken away from it. */
  readonly machine: number | undefined;
}

/** What each has used so far. */
export function readCpuTimes({ processes, database }: Contender): CpuTimes {
  return {
    server: processes?.cpuSeconds(),
    database: database.processes.cpuSeconds(),
    generator: ProcessTree.cpuSecondsOf(process.pid),
    machine: machineSeconds(),
  };
}

export function difference(after: CpuTimes, before: CpuTimes): CpuTimes {
  const since = (name: keyof CpuTimes): number | undefined => {
    const [a, b] = [after[name], before[name]];
    return a === undefined || b === undefined ? undefined : a - b;
  };
  return {
    server: since('server'),
    database: since('database'),
    generator: since('generator'),
    machine: since('machine'),
  };
}

function machineSeconds(): number | undefined {
  try {
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] =
      /^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]?.split(' ').map(Number) ?? [];
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
