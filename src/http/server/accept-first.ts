import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';

/** How long requests wait while connections come in. */
const MAX_HOLD_MS = 50;
/** Then they do not wait, for this many times as long: else a client could slow all others by opening connections. */
const FREE_FACTOR = 3;
/** Requests wait for at least this many turns: a turn is long if many answers arrive from the storage. */
const MIN_TURNS = 64;

/**
 * Node.js accepts one connection in each turn of its event loop, and with many busy connections a turn is long: a hundred new
 * clients would wait for a hundred turns. So, while connections come in, no request begins; such turns are short.
 */
export class AcceptFirst {
  private readonly waiting: [IncomingMessage, ServerResponse][] = [];
  /** When the last connection was accepted. */
  private last = 0;
  private holding = false;
  private held = Promise.resolve();
  private freeUntil = 0;

  /** Begins a request: the listener itself, except while connections come in. */
  begin: RequestListener;

  constructor(private readonly listener: RequestListener) {
    this.begin = listener;
  }

  watch(server: Server): void {
    server.on('connection', () => {
      this.last = performance.now();
      if (!this.holding && this.last >= this.freeUntil) this.held = this.hold(0, MAX_HOLD_MS);
    });
  }

  /** Whether no connection came for so long. */
  isQuiet(milliseconds: number): boolean {
    return performance.now() - this.last >= milliseconds;
  }

  /**
   * Calls back right after a turn in which no connection came, and none for `quiet` milliseconds before, or at the limit. No
   * request begins meanwhile, so clients that wait for an answer open no connection.
   */
  async whenQuiet(quiet: number, limit: number, callback: () => void): Promise<void> {
    this.freeUntil = Infinity;
    await this.held;
    await this.hold(quiet, limit, callback);
  }

  private async hold(quiet: number, limit: number, callback?: () => void): Promise<void> {
    this.holding = true;
    this.begin = (request, response) => {
      this.waiting.push([request, response]);
    };
    const begin = performance.now();
    // What is left of this turn shows nothing: it has accepted already.
    await setImmediate();
    for (let turns = 1; ; turns++) {
      const { last } = this;
      // Leaves the processor to clients on the same machine.
      if (!this.isQuiet(quiet)) await setTimeout(1);
      await setImmediate();
      if (this.last === last && this.isQuiet(quiet)) break;
      if (turns >= MIN_TURNS && performance.now() - begin >= limit) break;
    }
    callback?.();
    this.holding = false;
    this.begin = this.listener;
    const end = performance.now();
    this.freeUntil = Math.max(this.freeUntil, end + FREE_FACTOR * (end - begin));
    for (const [request, response] of this.waiting.splice(0)) {
      // A client that is gone by now asked for nothing yet.
      if (!request.socket.destroyed) this.listener(request, response);
    }
  }
}
