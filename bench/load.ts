import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ACCESS_TOKEN } from './targets.js';

const ANSWER_TIMEOUT_MS = 10_000;
/** Node's servers end a connection that is idle for five seconds. */
const MAX_IDLE_MS = 3000;
/** The load sleeps no longer, as it reads no answer meanwhile. */
const NAP_MS = 0.05;
/** With it every answer of status 200 ends. */
const FIELDS = '"name":"Rose","tag":"flower"}';
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4));

/** No id is sent twice, to any target. They are exact in JavaScript, and all are as long. */
let nextId = 1_000_000_000_000_000;

/** What one run of load came to. */
export interface LoadResult {
  /** Those with this id, or a higher one, are of this run, until the next begins. */
  readonly firstId: number;
  /** Of each create, in milliseconds. */
  readonly latencies: number[];
  readonly seconds: number;
}

/** Sends creates to one server. */
export class HttpLoad {
  private connections: Connection[] = [];
  private lastUse = 0;

  constructor(private readonly port: number) {}

  /** Closed loop: each connection sends the next create when the one before is answered. */
  runFor(seconds: number): Promise<LoadResult> {
    const end = performance.now() + seconds * 1000;
    return this.run(async (connection, latencies) => {
      for (let sentAt = performance.now(); sentAt < end; sentAt = performance.now()) {
        await connection.create();
        latencies.push(performance.now() - sentAt);
      }
    });
  }

  /**
   * Open loop: creates arrive at fixed times, whatever the server does. One that finds no connection free waits for
   * it, and that counts: a latency begins with the time of arrival.
   */
  runAt(createsPerSecond: number, seconds: number): Promise<LoadResult> {
    const start = performance.now();
    const alarm = new AlarmClock();
    let arrivals = 0;
    return this.run(async (connection, latencies) => {
      while (arrivals < createsPerSecond * seconds) {
        const arrival = start + (1000 * arrivals++) / createsPerSecond;
        await alarm.at(arrival);
        await connection.create();
        latencies.push(performance.now() - arrival);
      }
    });
  }

  /** Before each run. What has been idle for long may just be ended by the server. */
  async open(count: number): Promise<void> {
    if (performance.now() - this.lastUse > MAX_IDLE_MS) this.close();
    while (this.connections.length < count) this.connections.push(await Connection.open(this.port));
  }

  close(): void {
    for (const connection of this.connections) connection.close();
    this.connections = [];
  }

  /** Resolves when the last request is answered. @throws Error if one is not answered as a create */
  private async run(use: (connection: Connection, latencies: number[]) => Promise<void>): Promise<LoadResult> {
    const [firstId, start] = [nextId, performance.now()];
    const latencies: number[] = [];
    await Promise.all(this.connections.map((connection) => use(connection, latencies)));
    this.lastUse = performance.now();
    return { firstId, latencies, seconds: (this.lastUse - start) / 1000 };
  }
}

/** Knows the one answer that counts, and parses nothing, so that it costs the machine little. */
class Connection {
  private answer = '';
  private resolve: () => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly head: string,
  ) {
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.answer += text;
      if (!this.answer.startsWith('HTTP/1.1 200 ')) this.reject(new Error(`a create was answered with ${this.answer}`));
      else if (this.answer.endsWith(FIELDS)) this.resolve();
    });
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    // What went wrong is read when the connection closes.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.reject(closedEarly(socket));
    });
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const fields = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${ACCESS_TOKEN}\r\nContent-Type: application/json`;
    return new Connection(socket, `POST /plants HTTP/1.1\r\n${fields}\r\n`);
  }

  create(): Promise<void> {
    const body = `{"id":${nextId++},${FIELDS}`;
    this.answer = '';
    return new Promise((resolve, reject) => {
      [this.resolve, this.reject] = [resolve, reject];
      if (this.socket.destroyed) reject(closedEarly(this.socket));
      else this.socket.write(`${this.head}Content-Length: ${body.length}\r\n\r\n${body}`);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}

function closedEarly(socket: Socket): Error {
  return socket.errored ?? new Error('a connection was closed without an answer');
}

/** A timer for fractions of a millisecond, which Node's are not. Its times are asked for in their order. */
class AlarmClock {
  private readonly alarms: { readonly time: number; readonly resolve: () => void }[] = [];

  at(time: number): Promise<void> {
    return new Promise((resolve) => {
      this.alarms.push({ time, resolve });
      if (this.alarms.length === 1) this.tick();
    });
  }

  private readonly tick = (): void => {
    while (this.alarms[0] && this.alarms[0].time <= performance.now()) this.alarms.shift()?.resolve();
    const [next] = this.alarms;
    if (!next) return;
    Atomics.wait(NEVER_NOTIFIED, 0, 0, Math.min(NAP_MS, Math.max(0, next.time - performance.now())));
    setImmediate(this.tick);
  };
}
