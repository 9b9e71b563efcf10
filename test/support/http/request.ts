import { expect } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ErrorStatus } from '../../../src/errors/error-catalogue.js';

/** A token that every application under test accepts. */
export const TOKEN = 'a-token-for-the-tests-0123456789';

const END_OF_HEAD = '\r\n\r\n';

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

export interface RawResponse {
  status: number;
  /** By lower-case name; a repeated header is joined with a comma. */
  headers: Record<string, string>;
  body: string;
}

/** A client that sends bytes as they are and reads HTTP responses one by one. */
export class RawConnection implements Disposable {
  private received = Buffer.alloc(0);
  private ended = false;
  private wake: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    const end = (): void => {
      this.ended = true;
      this.wake();
    };
    socket.on('end', end).on('close', end).on('error', end);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(...parts: (string | Buffer)[]): void {
    for (const part of parts) this.socket.write(part);
  }

  /** The next response, or undefined if the server closes the connection without one. That to a HEAD has no body. */
  async response({ head: isToHead = false } = {}): Promise<RawResponse | undefined> {
    const head = await this.read((received) =>
      received.includes(END_OF_HEAD) ? received.indexOf(END_OF_HEAD) + END_OF_HEAD.length : Infinity,
    );
    if (head === undefined) return undefined;
    const [statusLine = '', ...fields] = head.toString('latin1').trimEnd().split('\r\n');
    const headers: Record<string, string> = {};
    for (const field of fields) {
      const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/.exec(field.trimEnd()) ?? [];
      const before = headers[name.toLowerCase()];
      headers[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
    }
    const status = Number(statusLine.split(' ')[1]);
    const length = isToHead || status < 200 ? 0 : Number(headers['content-length'] ?? 0);
    const body = await this.read(() => length);
    if (body === undefined) throw new Error('the connection ended before the body of a response');
    return { status, headers, body: body.toString('utf8') };
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.ended) await this.more();
  }

  close(): void {
    this.socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** As many bytes as what was received so far asks for, or undefined if none come. */
  private async read(sizeFor: (received: Buffer) => number): Promise<Buffer | undefined> {
    while (this.received.length < sizeFor(this.received)) {
      if (this.ended && this.received.length > 0) throw new Error('the connection ended in the midst of a response');
      if (this.ended) return undefined;
      await this.more();
    }
    const size = sizeFor(this.received);
    const bytes = this.received.subarray(0, size);
    this.received = this.received.subarray(size);
    return bytes;
  }

  private more(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/** Ways to speak to the application that listens on a port, for requests one by one. */
export function connectTo(port: number, basePath: string) {
  /** Sends one request, byte for byte, on a connection of its own, and reads one response. */
  const raw = async (...parts: (string | Buffer)[]): Promise<RawResponse> => {
    using connection = await RawConnection.open(port);
    connection.send(...parts);
    const response = await connection.response();
    if (!response) throw new Error('the server closed the connection without an answer');
    return response;
  };
  const post = (body: string | Buffer, headers?: RequestHeaders): Promise<RawResponse> =>
    raw(postHead(basePath, body, headers), body);
  return { port, basePath, raw, post };
}

/** The header fields of every answer, success or failure. */
export const ANSWER_HEADERS = {
  'content-type': 'application/json',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'x-request-id': expect.stringMatching(/^\S+$/) as unknown,
};

/** Returns the message of a refusal. It has its status, its header fields, and a body of `error` and `message` only. */
export function expectRefusal(response: RawResponse | undefined, error: number, errorStatus: ErrorStatus): string {
  const status = errorStatus === 'contract' ? 400 : Math.trunc(error / 100);
  expect(response).toMatchObject({ status, headers: ANSWER_HEADERS });
  const body = JSON.parse(response?.body ?? '') as { error: number; message: string };
  expect(body).toEqual({ error, message: expect.stringMatching(/\S/) });
  return body.message;
}
