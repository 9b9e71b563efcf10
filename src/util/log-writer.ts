const MAX_WAITING_BYTES = 4_194_304;

/**
 * Writes lines, each a JSON object, to standard output without waiting for its reader: Node.js keeps what a pipe does not take. Beyond
 * a limit lines are dropped, and the next line has their number.
 */
class LogWriter {
  /** Lines that were dropped since the start of the process. */
  dropped = 0;
  /** How many of them lines have mentioned. */
  private mentioned = 0;

  write(line: string): void {
    const dropped = this.dropped - this.mentioned;
    const text = dropped === 0 ? `${line}\n` : `${line.slice(0, -1)},"dropped":${dropped}}\n`;
    if (process.stdout.writableLength + Buffer.byteLength(text) > MAX_WAITING_BYTES) {
      this.dropped += 1;
      return;
    }
    this.mentioned = this.dropped;
    // Without a listener the end of the reader would be the end of the process.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined);
    process.stdout.write(text, (error) => {
      if (error) this.dropped += 1;
    });
  }
}

/** One for the process, as standard output is. */
export const logWriter = new LogWriter();
