import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from './has-code.js';

/** PostgreSQL's own `postmaster.pid`: one value to a line: the first is the process, the fourth its port and the eighth its state. */
export class PidFile {
  private readonly path: string;

  constructor(dataDirectory: string) {
    this.path = join(dataDirectory, 'postmaster.pid');
  }

  /** Undefined when there is no file, or none with a process in it. */
  async read(): Promise<{ pid: number; port: number | undefined; ready: boolean } | undefined> {
    const lines = (await this.text())?.split('\n') ?? [];
    // The number of a single-user server is kept negative.
    const pid = Math.abs(Number(lines[0]));
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    const port = Number(lines[3]);
    return { pid, port: port > 0 ? port : undefined, ready: lines[7]?.trim() === 'ready' };
  }

  /**
   * Of a server that is gone: lets the next one start, even where another program now has the old number. PostgreSQL
   * takes a file with its parent's number for stale; removed, the file could not tell it of the shared memory in which
   * processes of a killed server may still be at work.
   */
  async disown(): Promise<void> {
    const text = await this.text();
    if (text === undefined) return;
    // On Windows PostgreSQL has no use for its parent's number, and finds the memory by the name of the directory.
    if (process.platform !== 'win32' && (await this.read()))
      await writeFile(this.path, text.replace(/^.*/, String(process.pid)));
    else await rm(this.path, { force: true });
  }

  private async text(): Promise<string | undefined> {
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }
}
