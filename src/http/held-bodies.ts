import type { ServerResponse } from 'node:http';
import { TooManyBodiesError } from './too-many-bodies.error.js';

/** What is smaller need not be counted: as many of these as can wait take little. */
export const SMALL_BODY = 16 * 1024;
/** Bytes of bodies that requests under way may hold together. */
const MOST = 256 * 1024 * 1024;

/**
 * The bodies of requests that are not answered yet, which stay in memory as long as the requests wait, with all that a
 * client has put into them.
 */
export class HeldBodies {
  private bytes = 0;

  /**
   * Counts a body until its request is answered.
   *
   * @throws TooManyBodiesError where that is too much, unless it is the only one
   */
  hold(bytes: number, response: ServerResponse): void {
    if (this.bytes > 0 && this.bytes + bytes > MOST) throw new TooManyBodiesError();
    this.bytes += bytes;
    response.once('close', () => {
      this.bytes -= bytes;
    });
  }
}
