import { RawConnection, type RawResponse } from './raw-connection.js';
import { postHead } from './request.js';

/** Longer than an answer takes, so that it is lost by then. */
const PATIENCE_MS = 5000;

/** Clients that create plants one after the other, each on a connection that it keeps, and makes anew when it breaks. */
export class CreatingClients implements AsyncDisposable {
  /** The ids of the plants that were answered with 200. */
  readonly created: number[] = [];
  /** Answers other than 200. */
  readonly refusals: RawResponse[] = [];
  protected next: number;
  protected stopping = false;
  private readonly running: Promise<unknown>;

  /** @param firstId ids count up from here */
  constructor(
    protected readonly port: number,
    count: number,
    firstId = 1,
  ) {
    this.next = firstId;
    // After the constructor of a subclass.
    this.running = Promise.all(Array.from({ length: count }, () => Promise.resolve().then(() => this.run())));
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

  protected async run(): Promise<void> {
    while (!this.stopping) {
      try {
        using connection = await RawConnection.open(this.port);
        connection.socket.setTimeout(PATIENCE_MS, () => connection.socket.destroy());
        while (await this.create(connection));
      } catch {
        // The connection broke in the midst of an answer, or could not be made.
      }
    }
  }

  /** Whether the connection can be used again, and is to be. */
  protected async create(connection: RawConnection): Promise<boolean> {
    const id = this.next++;
    const body = `{"id":${id},"name":"Rose"}`;
    connection.send(postHead('', body), body);
    const response = await connection.response();
    if (response?.status === 200) this.created.push(id);
    else if (response) this.refusals.push(response);
    return response !== undefined && !this.stopping;
  }
}
