import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { portOf } from './free-port.js';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** The request whose answer is to be lost went through. */
  marked: boolean;
}

/** Stands in front of a PostgreSQL server and does what networks do at their worst. */
export class TcpProxy {
  /** Milliseconds that each packet takes from now on, in each direction. */
  delay = 0;
  private readonly links = new Set<Link>();
  private resetting = false;
  /** Connections yet to come that are frozen from the beginning. */
  private freezing = 0;
  private mark: string | undefined;

  private constructor(
    private readonly listener: Server,
    private target: URL,
  ) {
    listener.on('connection', (client) => {
      if (this.resetting) client.resetAndDestroy();
      else this.open(client);
    });
  }

  /** @param url a database of the server to stand in front of */
  static async start(url: string): Promise<TcpProxy> {
    const listener = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new TcpProxy(listener, new URL(url));
  }

  /** The URL of the same database, through this proxy. */
  get url(): string {
    return Object.assign(new URL(this.target), { host: `127.0.0.1:${portOf(this.listener)}` }).href;
  }

  /** Leads new connections to another server from now on; those that there are stay. */
  leadTo(url: string): void {
    this.target = new URL(url);
  }

  /** Resets every connection, and every new one as soon as it is made. */
  reset(): void {
    this.resetting = true;
    for (const link of this.links) breakLink(link);
  }

  /** Keeps the open connections, but lets nothing through any more, also on as many new ones. */
  freeze(next = Infinity): void {
    this.freezing = next;
    for (const socket of this.sockets()) socket.pause();
  }

  /** Lets everything through again at once, what was held back included. */
  restore(): void {
    this.resetting = false;
    this.freezing = 0;
    this.delay = 0;
    for (const socket of this.sockets()) socket.resume();
  }

  /** Lets the next statement with this text through, and breaks the connection in the place of the answer. */
  loseAnswerTo(text: string): void {
    this.mark = text;
  }

  /** Whether that statement has come. */
  get hasLostAnswer(): boolean {
    return this.mark === undefined;
  }

  /** Breaks each connection that there is in the place of its next answer. */
  loseAnswers(): void {
    for (const link of this.links) link.marked = true;
  }

  /** From now on connections are refused, as if no server runs. */
  async close(): Promise<void> {
    const closed = once(this.listener.close(), 'close');
    for (const link of this.links) breakLink(link);
    await closed;
  }

  private sockets(): Socket[] {
    return [...this.links].flatMap(({ client, server }) => [client, server]);
  }

  private open(client: Socket): void {
    const server = connect({ host: this.target.hostname, port: Number(this.target.port || 5432), noDelay: true });
    const link: Link = { client, server, marked: false };
    this.links.add(link);
    client.on('data', (bytes: Buffer) => {
      if (this.mark === undefined || !bytes.includes(this.mark)) return;
      this.mark = undefined;
      link.marked = true;
    });
    server.on('data', () => {
      if (link.marked) breakLink(link);
    });
    this.connect(client, server, link);
    this.connect(server, client, link);
    if (this.freezing > 0) client.pause();
    this.freezing = Math.max(0, this.freezing - 1);
  }

  private connect(from: Socket, to: Socket, link: Link): void {
    // Resolves when all that came is passed on.
    let passed: Promise<unknown> = Promise.resolve();
    const end = (): void => {
      from.destroy();
      to.destroy();
      this.links.delete(link);
    };
    from.on('data', (bytes: Buffer) => {
      passed = Promise.all([passed, this.delay && setTimeout(this.delay)]).then(() => to.writable && to.write(bytes));
    });
    from.on('error', end).on('close', end);
    from.on('end', () => to.end());
  }
}

function breakLink({ client, server }: Link): void {
  // A reset in the midst of a shutdown leaves Node with a handle that it waits for at its end, forever.
  if (client.writableEnded) client.destroy();
  else client.resetAndDestroy();
  server.destroy();
}
