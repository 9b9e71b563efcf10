/** Limit in characters, as Node.js counts waiting output; nearly all take one byte. */
const MAX_WAITING_LENGTH = 4_194_304;

/**
 * Writes lines to standard output without waiting for its reader: Node.js keeps what a pipe does not take. The lines of one turn of the
 * event loop are one write. Beyond a limit lines are dropped, and the next line has their number.
 */
class LogWriter {
  /** Lines that were dropped since the start of the process. */
  dropped = 0;
  /** How many of them were reported in a line. */
  private mentioned = 0;
  /** The lines of this turn, and how many. */
  private text = '';
  private lines = 0;
  private isExiting: boolean | undefined;

  /** @param isJson whether the line is a JSON object, which then has the number of dropped lines as a field */
  write(line: string, isJson = true): void {
    if (process.stdout.writableLength + this.text.length + line.length >= MAX_WAITING_LENGTH) {
      this.dropped += 1;
      return;
    }
    const dropped = this.dropped - this.mentioned;
    this.mentioned = this.dropped;
    if (dropped === 0) this.text += `${line}\n`;
    else this.text += isJson ? `${line.slice(0, -1)},"dropped":${dropped}}\n` : `${line} { dropped: ${dropped} }\n`;
    this.lines += 1;
    if (this.isExiting) this.flush();
    else if (this.lines === 1) setImmediate(this.flush);
    if (this.isExiting !== undefined) return;
    this.isExiting = false;
    // After it no turn follows. Other listeners may still write.
    process.once('exit', () => {
      this.isExiting = true;
      this.flush();
    });
  }

  /** Writes the lines of this turn at once, so that they come before what is written otherwise. */
  readonly flush = (): void => {
    const { text, lines } = this;
    if (lines === 0) return;
    this.text = '';
    this.lines = 0;
    // Without a listener the end of the reader would be the end of the process.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined);
    process.stdout.write(text, (error) => {
      if (error) this.dropped += lines;
    });
  };
}

/** One for the process, as standard output is. */
export const logWriter = new LogWriter();
