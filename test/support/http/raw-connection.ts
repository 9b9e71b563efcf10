import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

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

  /**
   * The next response, or undefined if the server closes the connection without one. The answer to a HEAD has no
   * body, with any length in its header.
   */
  async response({ head: bodiless = false }: { head?: boolean } = {}): Promise<RawResponse | undefined> {
    const head = await this.readUntil('\r\n\r\n');
    if (head === undefined) return undefined;
    const [statusLine = '', ...fields] = head.split('\r\n');
    const headers: Record<string, string> = {};
    for (const field of fields) {
      const colon = field.indexOf(':');
      const name = field.slice(0, colon).toLowerCase();
      const value = field.slice(colon + 1).trim();
      headers[name] = name in headers ? `${headers[name] ?? ''}, ${value}` : value;
    }
    const status = Number(statusLine.split(' ')[1]);
    const body = await this.readBytes(bodiless || status < 200 ? 0 : Number(headers['content-length'] ?? 0));
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

  private async readUntil(mark: string): Promise<string | undefined> {
    for (;;) {
      const at = this.received.indexOf(mark);
      if (at >= 0) return (await this.readBytes(at + mark.length)).toString('latin1').slice(0, -mark.length);
      if (this.ended && this.received.length > 0) throw new Error('the connection ended in the midst of a response');
      if (this.ended) return undefined;
      await this.more();
    }
  }

  private async readBytes(count: number): Promise<Buffer> {
    while (this.received.length < count) {
      if (this.ended) throw new Error(`the connection ended ${count - this.received.length} bytes before the response`);
      await this.more();
    }
    const bytes = this.received.subarray(0, count);
    this.received = this.received.subarray(count);
    return bytes;
  }

  private more(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}
