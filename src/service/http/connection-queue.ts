import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The parser gets so many bytes at a time. Then a waiting request stops it. */
const SLICE_BYTES = 1024;
/** The most requests that may wait, at some 2 KB each. One more closes its connection. */
const MAX_WAITING = 20_000;

interface Connection {
  /** The response to the last parsed request. Answers keep their order, so it is sent last. */
  last: ServerResponse | undefined;
  /** The parsed requests that have not begun. */
  waiting: number;
  isParsedInSlices: boolean;
  isStopped: boolean;
}

/** Handles one request of each connection at a time. */
export class ConnectionQueue {
  readonly connections = new Map<Socket, Connection>();
  private readonly servedThisTurn = new Set<Socket>();
  private readonly endTurn = this.servedThisTurn.clear.bind(this.servedThisTurn);
  private allWaiting = 0;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      const connection = { last: undefined, waiting: 0, isParsedInSlices: false, isStopped: false };
      this.connections.set(socket, connection);
      socket.once('close', () => {
        this.connections.delete(socket);
        this.allWaiting -= connection.waiting;
      });
    });
  }

  /** Stops the parser of a connection. Later bytes are dropped. Returns false if it was stopped before. */
  stop(socket: Socket): boolean {
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.isStopped) return false;
    return (connection.isStopped = true);
  }

  /** Begins a request when the one before it on its connection is answered. Until then nothing more is read. */
  whenFree(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const connection = this.connections.get(socket);
    if (connection === undefined || socket.writableEnded) return;
    connection.last = response;
    // A response has no socket while others are before it. Other connections get their turn between two requests.
    if (response.socket !== null && !this.servedThisTurn.has(socket)) {
      this.noteTurn(socket);
      begin();
      return;
    }
    if (!connection.isParsedInSlices) this.parseInSlices(socket, connection);
    connection.waiting += 1;
    this.allWaiting += 1;
    if (this.allWaiting > MAX_WAITING) socket.destroy();
    const beginInTurn = (): void => {
      if (socket.destroyed) return;
      connection.waiting -= 1;
      this.allWaiting -= 1;
      this.noteTurn(socket);
      begin();
      if (connection.waiting === 0) socket.resume();
    };
    if (response.socket === null) response.once('socket', () => setImmediate(beginInTurn));
    else setImmediate(beginInTurn);
  }

  private noteTurn(socket: Socket): void {
    if (this.servedThisTurn.size === 0) setImmediate(this.endTurn);
    this.servedThisTurn.add(socket);
  }

  /**
   * The parser of Node.js reads 64 KiB at a time and cannot be stopped between two requests. In slices it can. Only
   * pipelining connections are parsed so, because this costs a third of the requests a second of bare Node.js.
   */
  private parseInSlices(socket: Socket, connection: Connection): void {
    connection.isParsedInSlices = true;
    // As the only listener, the parser reads from the socket's handle. With another one, bytes come as `data`.
    const [parse] = socket.listeners('data') as [(bytes: Buffer) => void];
    socket.on('data', (bytes: Buffer) => {
      let next = 0;
      // A request also pauses its connection while its body is not read.
      while (next < bytes.length && connection.waiting === 0 && !socket.isPaused()) {
        if (connection.isStopped || socket.destroyed) return;
        parse(bytes.subarray(next, (next += SLICE_BYTES)));
      }
      if (connection.waiting > 0) socket.pause();
      if (next < bytes.length) socket.unshift(bytes.subarray(next));
    });
    socket.off('data', parse);
    // The parser may have stopped reading, and the stream does not know. This push ends its wait.
    socket.push(Buffer.alloc(0));
  }
}
