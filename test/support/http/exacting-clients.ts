import { setTimeout } from 'node:timers/promises';
import { CreatingClients } from './creating-clients.js';
import { RawConnection } from './raw-connection.js';
import { postHead } from './request.js';

/** While nobody listens. */
const RETRY_MS = 10;

/** Clients that create plants one after the other, each on a connection that it keeps as long as it may. They repeat nothing but refused connections. */
export class ExactingClients extends CreatingClients {
  /** Requests without an answer, and answers other than 200: why. */
  readonly failures: string[] = [];
  /** Answers with `Connection: close`. */
  closings = 0;

  protected override async run(): Promise<void> {
    while (!this.stopping) {
      const connection = await this.connect();
      if (!connection) continue;
      using used = connection;
      while (await this.create(used));
    }
  }

  private async connect(): Promise<RawConnection | undefined> {
    try {
      return await RawConnection.open(this.port);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ECONNREFUSED') this.failures.push(`connecting: ${String(code)}`);
      await setTimeout(RETRY_MS);
      return undefined;
    }
  }

  protected override async create(connection: RawConnection): Promise<boolean> {
    const id = this.next++;
    const body = `{"id":${id},"name":"Rose"}`;
    let reason = 'closed';
    connection.socket.once('error', (error: NodeJS.ErrnoException) => (reason = String(error.code)));
    connection.send(postHead('', body), body);
    const response = await connection.response().catch(() => undefined);
    if (!response) {
      this.failures.push(`no answer: ${reason}`);
      return false;
    }
    if (response.status === 200) this.created.push(id);
    else this.failures.push(response.body);
    const closes = response.headers.connection === 'close';
    if (closes) this.closings += 1;
    return !closes && !this.stopping;
  }
}
