/**
 * Bytes that arrive in chunks, in one buffer: a million chunks of one byte, each an object of its own, would take hundreds of
 * times their size. What arrives in one chunk is not copied.
 */
export class ReceivedBytes {
  private buffer: Buffer = Buffer.alloc(0);
  length = 0;

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.length === 0) {
      this.buffer = chunk;
    } else {
      if (length > this.buffer.length) this.grow(Math.max(length, 2 * this.buffer.length));
      chunk.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private grow(capacity: number): void {
    const larger = Buffer.allocUnsafe(capacity);
    this.buffer.copy(larger);
    this.buffer = larger;
  }
}
