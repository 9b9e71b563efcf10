import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../root.js';
import type { HttpLoadRun, LoadGenerator, LoadResult } from './load.js';

const run = promisify(execFile);
const SCRIPT = join(ROOT, 'bench/load/create-plants.lua');

/** What the script prints at the end. */
interface Summary {
  answers: number;
  microseconds: number;
  p50: number;
  p99: number;
  /** Of a status from 400 on. */
  refused: number;
  broken: number;
}

/** https://github.com/wg/wrk: one of its threads sends several times what one Node.js process answers. */
export class Wrk implements LoadGenerator {
  private constructor(readonly name: string) {}

  /** Undefined where it is not installed. */
  static async find(): Promise<Wrk | undefined> {
    try {
      // It tells its version and exits with 1.
      const { stdout } = await run('wrk', ['-v']).catch(
        (error: unknown) => error as { stdout?: string; code?: unknown },
      );
      const version = /^wrk (?:debian\/)?([\d.]+)/.exec(stdout ?? '')?.[1];
      return version === undefined ? undefined : new Wrk(`wrk ${version}`);
    } catch {
      return undefined;
    }
  }

  async run({ url, token, ids, connections, seconds, idPrefix, signal }: HttpLoadRun): Promise<LoadResult> {
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', SCRIPT];
    const { stdout } = await run('wrk', [...options, url, '--', String(idPrefix), token, ids], { signal });
    const { answers, microseconds, p50, p99, refused, broken } = JSON.parse(
      stdout.trim().split('\n').at(-1) ?? '',
    ) as Summary;
    return {
      creates: answers - refused,
      seconds: microseconds / 1e6,
      p50: p50 / 1000,
      p99: p99 / 1000,
      failures: refused + broken,
    };
  }
}
