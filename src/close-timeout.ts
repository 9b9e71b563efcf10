import type { Environment } from './app/config.js';

/** Milliseconds to wait at the end for the answers to requests under way: one arrives, waits for the database, and is answered. */
export function closeTimeout({ requestTimeout, storageTimeout }: Environment): number {
  return requestTimeout + 2 * storageTimeout;
}
