import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const ANSWER_LIMIT_MS = 10_000;
/** Less than any server keeps a connection without a request: it would close it as the next request is sent. */
const IDLE_LIMIT_MS = 3000;
/** With it every answer of status 200 ends, and the echo's too. */
const FIELDS = '"name":"Rose","tag":"flower"}';
/** Those of one run are within as many numbers. */
export const IDS_OF_A_RUN = 10_000_000_000;

let next = 100_000_000_000_000;

/** The first id of a run: no other run has any of its ids. They are exact in JavaScript, and all are as long. */
export function firstIdOfRun(): number {
  next += IDS_OF_A_RUN;
  return next;
}

/** What one run of load came to. A create that is not answered as one makes the run fail. */
export interface LoadResult {
  /** Answers of status 200, or commits. */
  readonly creates: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface LoadRun {
  readonly connections: number;
  readonly seconds: number;
  /** Of the ids of this run. */
  readonly firstId: number;
  readonly signal: AbortSignal;
}

/** From the latencies of a run, in milliseconds. */
export function loadResult(latencies: Float64Array, seconds: number): LoadResult {
  latencies.sort();
  const at = (quantile: number): number => latencies[Math.floor(quantile * (latencies.length - 1))] ?? NaN;
  return { creates: latencies.length, seconds, p50: at(0.5), p99: at(0.99) };
}

/**
 * Sends creates to one server, on each connection one after the other. It keeps its connections between runs. It knows the one answer
 * that counts, and parses nothing, so that it costs the machine little.
 */
export class HttpLoad {
  private sockets: Socket[] = [];
  private usedAt = 0;
  private readonly head: string;

  constructor(
    private readonly port: number,
    token: string,
  ) {
    this.head = `POST /plants HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  }

  /** Ends when the last request is answered. */
  async run({ connections, seconds, firstId, signal }: LoadRun): Promise<LoadResult> {
    await this.connect(connections);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + ANSWER_LIMIT_MS)]);
    const abort = (): void => {
      this.close(limit.reason as Error);
    };
    limit.addEventListener('abort', abort, { once: true });
    const latencies: number[] = [];
    let id = firstId;
    const start = performance.now();
    const end = start + seconds * 1000;
    try {
      await Promise.all(this.sockets.map((socket) => createUntil(end, socket, () => this.request(id++), latencies)));
      return loadResult(Float64Array.from(latencies), (performance.now() - start) / 1000);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.usedAt = performance.now();
      limit.removeEventListener('abort', abort);
    }
  }

  async connect(count: number): Promise<void> {
    if (performance.now() - this.usedAt > IDLE_LIMIT_MS) this.close();
    const open = this.sockets.filter((socket) => !socket.destroyed);
    for (const socket of open.splice(count)) socket.destroy();
    this.sockets = open;
    while (open.length < count) {
      const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
      await once(socket, 'connect');
      // Between runs there is no other listener.
      open.push(socket.setEncoding('latin1').on('error', () => undefined));
    }
    this.usedAt = performance.now();
  }

  close(error?: Error): void {
    for (const socket of this.sockets) socket.destroy(error);
  }

  private request(id: number): string {
    const body = `{"id":${id},${FIELDS}`;
    return `${this.head}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
}

function createUntil(end: number, socket: Socket, request: () => string, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let answer = '';
    const finish = (): void => {
      socket.off('data', onData).off('error', fail).off('close', onClose);
    };
    const fail = (error: Error): void => {
      finish();
      reject(error);
    };
    const onClose = (): void => {
      fail(new Error('a connection was closed without an answer'));
    };
    const send = (): void => {
      sentAt = performance.now();
      if (sentAt < end) {
        socket.write(request());
        return;
      }
      finish();
      resolve();
    };
    const onData = (text: string): void => {
      answer += text;
      if (!answer.startsWith('HTTP/1.1 200 ')) {
        fail(new Error(`a request was answered with ${answer.slice(0, 300)}`));
      } else if (answer.endsWith(FIELDS)) {
        latencies.push(performance.now() - sentAt);
        answer = '';
        send();
      }
    };
    socket.on('data', onData).on('error', fail).on('close', onClose);
    send();
  });
}
