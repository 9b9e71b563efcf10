const MAX_WAITING_BYTES = 4_194_304;

/**
 * Writes lines to standard output without waiting for its reader: Node.js keeps what a pipe does not take. The lines of one turn of the
 * event loop are one write. Beyond a limit lines are dropped, and the next line has their number.
 */
class LogWriter {
  /** Lines that were dropped since the start of the process. */
  dropped = 0;
  /** How many of them lines have mentioned. */
  private mentioned = 0;
  /** The lines of this turn, how many, and their size. */
  private text = '';
  private lines = 0;
  private bytes = 0;
  private isListening = false;
  private isExiting = false;

  /** @param isJson whether the line is a JSON object, which then has the number of dropped lines as a field */
  write(line: string, isJson = true): void {
    const dropped = this.dropped - this.mentioned;
    let text = `${line}\n`;
    if (dropped > 0)
      text = isJson ? `${line.slice(0, -1)},"dropped":${dropped}}\n` : `${line} { dropped: ${dropped} }\n`;
    const bytes = Buffer.byteLength(text);
    if (process.stdout.writableLength + this.bytes + bytes > MAX_WAITING_BYTES) {
      this.dropped += 1;
      return;
    }
    this.mentioned = this.dropped;
    this.text += text;
    this.bytes += bytes;
    this.lines += 1;
    if (this.isExiting) this.flush();
    else if (this.lines === 1) setImmediate(this.flush);
    if (this.isListening) return;
    this.isListening = true;
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
    this.bytes = 0;
    // Without a listener the end of the reader would be the end of the process.
    if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', () => undefined);
    process.stdout.write(text, (error) => {
      if (error) this.dropped += lines;
    });
  };
}

/** One for the process, as standard output is. */
export const logWriter = new LogWriter();
