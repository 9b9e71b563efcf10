import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/** A port that somebody else listens on. */
export class TakenPort implements Disposable {
  private constructor(private readonly server: Server) {}

  static async take(): Promise<TakenPort> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TakenPort(server);
  }

  get number(): number {
    return (this.server.address() as AddressInfo).port;
  }

  [Symbol.dispose](): void {
    this.server.close();
  }
}
