import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ACCESS_TOKEN } from './targets.js';

const ANSWER_TIMEOUT_MS = 10_000;
/** With it every answer of status 200 ends. */
const FIELDS = '"name":"Rose","tag":"flower"}';

/** No id is sent twice, to any target. They are exact in JavaScript, and all are as long. */
let nextId = 1_000_000_000_000_000;

/** What one run of load came to. */
export interface LoadResult {
  /** Those with this id, or a higher one, are of this run, until the next begins. */
  readonly firstId: number;
  readonly creates: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Sends creates to one server, on each connection one after the other. It knows the one answer that counts, and parses nothing, so
 * that it costs the machine little.
 */
export class HttpLoad {
  private readonly sockets: Socket[] = [];
  private readonly head: string;

  constructor(private readonly port: number) {
    this.head = `POST /plants HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${ACCESS_TOKEN}\r\nContent-Type: application/json\r\n`;
  }

  async open(connections: number): Promise<void> {
    while (this.sockets.length < connections) {
      const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
      this.sockets.push(socket.setEncoding('latin1'));
      await once(socket, 'connect');
      // What went wrong is read when the connection closes.
      socket.on('error', () => undefined);
      socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    }
  }

  /** Resolves when the last request is answered. @throws Error if one is not answered as a create */
  async run(seconds: number): Promise<LoadResult> {
    const latencies: number[] = [];
    const firstId = nextId;
    const start = performance.now();
    const end = start + seconds * 1000;
    await Promise.all(this.sockets.map((socket) => this.createUntil(end, socket, latencies)));
    const elapsed = (performance.now() - start) / 1000;
    latencies.sort((a, b) => a - b);
    const at = (quantile: number): number => latencies[Math.floor(quantile * (latencies.length - 1))] ?? NaN;
    return { firstId, creates: latencies.length, seconds: elapsed, p50: at(0.5), p99: at(0.99) };
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private createUntil(end: number, socket: Socket, latencies: number[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentAt = 0;
      let answer = '';
      const send = (): void => {
        sentAt = performance.now();
        if (sentAt < end) {
          socket.write(this.nextRequest());
          return;
        }
        socket.off('data', onData).off('close', onClose);
        resolve();
      };
      const onData = (text: string): void => {
        answer += text;
        if (!answer.startsWith('HTTP/1.1 200 ')) reject(new Error(`a create was answered with ${answer}`));
        if (!answer.endsWith(FIELDS)) return;
        latencies.push(performance.now() - sentAt);
        answer = '';
        send();
      };
      const onClose = (): void => {
        reject(socket.errored ?? new Error('a connection was closed without an answer'));
      };
      if (socket.destroyed) onClose();
      socket.on('data', onData).on('close', onClose);
      send();
    });
  }

  private nextRequest(): string {
    const body = `{"id":${nextId++},${FIELDS}`;
    return `${this.head}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
}
