import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Writes to a socket with a delay, in the same order. */
export class Delay {
  private last = Promise.resolve();
  private waiting = 0;

  constructor(private readonly socket: Socket) {}

  write(bytes: Buffer, milliseconds: number): void {
    if (milliseconds === 0 && this.waiting === 0) {
      this.socket.write(bytes);
      return;
    }
    this.waiting += 1;
    const before = this.last;
    this.last = setTimeout(milliseconds, undefined, { ref: false }).then(async () => {
      await before;
      this.waiting -= 1;
      if (this.socket.writable) this.socket.write(bytes);
    });
  }
}
