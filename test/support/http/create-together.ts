import { expect } from '@jest/globals';
import { stall } from '../stall.js';
import { RawConnection, type RawResponse } from './raw-connection.js';
import { postHead, type RequestHeaders } from './request.js';

const DELIVERY_MS = 20;

export interface TogetherCreate {
  body: string;
  headers?: RequestHeaders;
}

/**
 * Sends creates at one moment, each on a connection of its own, to a store in this process, so that they come to the writer
 * together and in this order. Returns their answers in the same order.
 */
export async function createTogether(
  port: number,
  creates: readonly TogetherCreate[],
): Promise<(RawResponse | undefined)[]> {
  const connections = await Promise.all(creates.map(() => RawConnection.open(port)));
  try {
    // A connection may be open for its client before the store has it.
    for (const connection of connections) connection.send(postHead('', '', { 'Content-Type': 'text/plain' }));
    for (const connection of connections) expect(await connection.response()).toBeDefined();
    for (const [index, { body, headers }] of creates.entries()) {
      connections[index]?.send(postHead('', body, headers) + body);
    }
    // The system may hand over the last of them later than the first; the store, in this process, shall find all at once.
    stall(DELIVERY_MS);
    return await Promise.all(connections.map((connection) => connection.response()));
  } finally {
    for (const connection of connections) connection.close();
  }
}
