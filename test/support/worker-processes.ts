import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { PlantStoreProcess } from './process.js';

/** The numbers of a service's worker processes. */
export async function workersOf(service: PlantStoreProcess): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([, parent, ...args]) => Number(parent) === service.pid && args.join(' ').includes('worker-main'))
    .map(([pid]) => Number(pid));
}
