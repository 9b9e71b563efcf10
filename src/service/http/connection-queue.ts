import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes that are parsed before it is looked whether a request waits. */
const SLICE_BYTES = 1024;
/** Requests of all connections that may wait, at some 2 KB each. One more closes its connection. */
const MAX_WAITING = 20_000;

interface Connection {
  /** The response to the request that was parsed last. Answers go out in order, so this one comes after all others. */
  last: ServerResponse | undefined;
  /** Requests that were parsed and have not begun. */
  waiting: number;
  isParsedInSlices: boolean;
  isStopped: boolean;
}

/** The connections of a server: one request of each at a time. */
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

  /** Nothing more of the connection is parsed: what arrives is thrown away. Returns whether that is new. */
  stop(socket: Socket): boolean {
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.isStopped) return false;
    return (connection.isStopped = true);
  }

  /** Begins a request when the one before it on its connection is answered, and reads nothing more until then. */
  whenFree(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const connection = this.connections.get(socket);
    if (connection === undefined || socket.writableEnded) return;
    connection.last = response;
    // A response has no socket as long as others are before it. Between two requests of one connection, others have their turn.
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
   * Node's parser reads 64 KiB at a time by itself, and cannot be stopped between two requests. Here it can. Other connections keep Node's
   * way: this one costs a third of the requests a second that bare Node answers.
   */
  private parseInSlices(socket: Socket, connection: Connection): void {
    connection.isParsedInSlices = true;
    // The parser is the only listener, and stops reading by itself when there is another one.
    const [parse] = socket.listeners('data') as [(bytes: Buffer) => void];
    socket.on('data', (bytes: Buffer) => {
      let next = 0;
      // A request pauses the connection too while its body is not read.
      while (next < bytes.length && connection.waiting === 0 && !socket.isPaused()) {
        if (connection.isStopped || socket.destroyed) return;
        parse(bytes.subarray(next, (next += SLICE_BYTES)));
      }
      if (connection.waiting > 0) socket.pause();
      if (next < bytes.length) socket.unshift(bytes.subarray(next));
    });
    socket.off('data', parse);
    // The parser may have stopped reading without the knowledge of the stream, which would wait for ever: this ends its wait.
    socket.push(Buffer.alloc(0));
  }
}
