import { RawConnection, type RawResponse } from './raw-connection.js';

/** A token that every application under test accepts. */
export const TOKEN = 'a-token-for-the-tests-0123456789';

const DELIVERY_MS = 20;

/** Header fields; a list repeats the field, and undefined leaves out one that is usually sent. */
export type RequestHeaders = Record<string, string | string[] | undefined>;

/** Of a body in chunks. */
export const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** The head of a request with a credential, up to the empty line. A header given here replaces the usual one. */
export function requestHead(requestLine: string, headers: RequestHeaders = {}): string {
  const fields: RequestHeaders = { Host: 'localhost', Authorization: `Bearer ${TOKEN}`, ...headers };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    [value ?? []].flat().map((line) => `${name}: ${line}\r\n`),
  );
  return `${requestLine}\r\n${lines.join('')}\r\n`;
}

/** The head of a POST /plants for this body, up to the empty line. */
export function postHead(basePath: string, body: string | Buffer, headers: RequestHeaders = {}): string {
  return requestHead(`POST ${basePath}/plants HTTP/1.1`, {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  });
}

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
    for (const connection of connections) await connection.response();
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

/** Gives nothing else in this process a turn for a time. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** The answers to creates that are sent one after the other on one connection. */
export async function sendInTurn(port: number, creates: Iterable<Partial<TogetherCreate>>): Promise<RawResponse[]> {
  using connection = await RawConnection.open(port);
  const responses: RawResponse[] = [];
  for (const { body = '{}', headers } of creates) {
    connection.send(postHead('', body, headers), body);
    const response = await connection.response();
    if (!response) throw new Error(`the server closed the connection before answer ${responses.length + 1}`);
    responses.push(response);
  }
  return responses;
}
