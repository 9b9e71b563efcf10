import { setTimeout } from 'node:timers/promises';
import { RawConnection, type RawResponse } from './raw-connection.js';
import { postHead } from './request.js';

/** While nobody listens. */
const RETRY_MS = 10;
/** Longer than an answer takes, so that it is lost by then. */
const PATIENCE_MS = 5000;

/** Clients that create plants one after the other, each on a connection that it keeps as long as it may. They repeat nothing but refused connections. */
export class CreatingClients implements AsyncDisposable {
  /** The ids of the plants that were answered with 200. */
  readonly created: number[] = [];
  /** Answers other than 200. */
  readonly refusals: RawResponse[] = [];
  /** Requests without an answer, and answers other than 200: why. */
  readonly failures: string[] = [];
  /** Answers with `Connection: close`. */
  closings = 0;
  private stopping = false;
  private readonly running: Promise<unknown>;

  /** @param next ids count up from here */
  constructor(
    private readonly port: number,
    count: number,
    private next = 1,
  ) {
    this.running = Promise.all(Array.from({ length: count }, () => this.run()));
  }

  static start(port: number, count: number): CreatingClients {
    return new CreatingClients(port, count);
  }

  /** Resolves when every request in flight is answered or lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      try {
        using connection = await RawConnection.open(this.port);
        connection.socket.setTimeout(PATIENCE_MS, () => connection.socket.destroy());
        while (await this.create(connection));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ECONNREFUSED') this.failures.push(`connecting: ${String(code)}`);
        await setTimeout(RETRY_MS);
      }
    }
  }

  /** Whether the connection can be used again, and is to be. */
  private async create(connection: RawConnection): Promise<boolean> {
    const id = this.next++;
    const body = `{"id":${id},"name":"Rose"}`;
    connection.send(postHead('', body), body);
    const response = await connection.response().catch(() => undefined);
    if (!response) {
      this.failures.push(`no answer: ${String(connection.socket.errored)}`);
      return false;
    }
    if (response.status === 200) {
      this.created.push(id);
    } else {
      this.refusals.push(response);
      this.failures.push(response.body);
    }
    const closes = response.headers.connection === 'close';
    if (closes) this.closings += 1;
    return !closes && !this.stopping;
  }
}
