import { writeSync } from 'node:fs';

const MAX_WAITING_BYTES = 4_194_304;
const RETRY_MS = 10;
/** How long the exit of the process waits for the reader. */
const MAX_EXIT_MS = 1000;

/**
 * Writes lines, each a JSON object, to standard output without waiting for its reader. What does not fit into the pipe waits here. Beyond
 * a limit lines are dropped, and the next line has their number.
 */
class LogWriter {
  /** Lines that were dropped since the start of the process. */
  dropped = 0;
  /** How many of them lines have mentioned. */
  private mentioned = 0;
  private readonly waiting: Buffer[] = [];
  private waitingBytes = 0;
  private timer: NodeJS.Timeout | undefined;

  write(line: string): void {
    const dropped = this.dropped - this.mentioned;
    const text = dropped === 0 ? line : `${line.slice(0, -1)},"dropped":${dropped}}`;
    const bytes = Buffer.from(`${text}\n`);
    if (this.waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.dropped += 1;
      return;
    }
    this.mentioned = this.dropped;
    this.waiting.push(bytes);
    this.waitingBytes += bytes.length;
    if (this.timer === undefined) this.flush();
  }

  private readonly flush = (): void => {
    this.timer = undefined;
    try {
      for (let line = this.waiting[0]; line !== undefined; line = this.waiting[0]) {
        // The first use of process.stdout makes a pipe non-blocking.
        const written = writeSync(process.stdout.fd, line);
        this.waitingBytes -= written;
        if (written < line.length) this.waiting[0] = line.subarray(written);
        else this.waiting.shift();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
        this.timer = setTimeout(this.flush, RETRY_MS).unref();
        process.off('exit', this.flushAtExit).once('exit', this.flushAtExit);
      } else {
        // Nobody reads any more, or the disk is full.
        this.dropped += this.waiting.splice(0).length;
        this.waitingBytes = 0;
      }
    }
  };

  private readonly flushAtExit = (): void => {
    const pause = new Int32Array(new SharedArrayBuffer(4));
    const deadline = performance.now() + MAX_EXIT_MS;
    while (this.waiting.length > 0 && performance.now() < deadline) {
      // Timers do not run any more.
      Atomics.wait(pause, 0, 0, 1);
      this.flush();
    }
  };
}

/** One for the process, as standard output is. */
export const logWriter = new LogWriter();
