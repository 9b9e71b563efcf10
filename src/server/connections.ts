import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The most requests of one connection without an answer: one in hand, and the others wait. */
const MAX_UNANSWERED = 100;
/** The most requests of all connections that wait, at some 2 KB each. Each connection may have one. */
const MAX_WAITING = 20_000;
/** What comes behind so many dropped bytes is not read. */
const MAX_DROPPED_BYTES = 1024 * 1024;

interface Connection {
  /** The response to the last parsed request. Answers keep their order, so it is sent last. */
  last: ServerResponse | undefined;
  /** The response in hand. */
  current: ServerResponse | undefined;
  /** The parsed requests that have not begun. */
  waiting: number;
  isStopped: boolean;
  /** Read up to the last answered request. */
  bytesAnswered: number;
}

/** The open connections. Each carries out one request at a time, and drops what comes behind too many that wait. */
export class Connections {
  readonly bySocket = new Map<Socket, Connection>();
  private readonly servedThisTurn = new Set<Socket>();
  private readonly endTurn = this.servedThisTurn.clear.bind(this.servedThisTurn);
  private allWaiting = 0;

  /** @param requestPrototype that of the server's requests */
  constructor(
    private readonly server: Server,
    requestPrototype: IncomingMessage,
  ) {
    server.on('connection', (socket) => {
      const connection = { last: undefined, current: undefined, waiting: 0, isStopped: false, bytesAnswered: 0 };
      this.bySocket.set(socket, connection);
      socket.once('close', () => {
        this.bySocket.delete(socket);
        this.allWaiting -= connection.waiting;
      });
    });
    this.takeParserFromDropped(requestPrototype);
  }

  /** Later requests of a stopped connection are dropped. Returns false if it was stopped before. */
  markStopped(socket: Socket): boolean {
    const connection = this.bySocket.get(socket);
    if (connection === undefined || connection.isStopped) return false;
    return (connection.isStopped = true);
  }

  /** Stops a connection that Node.js has taken from its parser. The answers to earlier requests are still sent. */
  stopWithoutParser(socket: Socket): void {
    this.markStopped(socket);
    let dropped = 0;
    // Node.js has removed its own listeners. An error without a listener would end the process.
    socket
      .on('error', () => socket.destroy())
      .on('timeout', () => this.server.emit('timeout', socket))
      .on('drain', () => this.bySocket.get(socket)?.current?.emit('drain'))
      // The operating system resets a connection that ends with unread bytes. The client would not see its answers.
      .on('data', (bytes) => {
        dropped += bytes.length;
        if (dropped > MAX_DROPPED_BYTES) socket.pause();
      })
      .resume();
  }

  /** Begins a request when the one before it on its connection is answered. */
  whenFree(response: ServerResponse, begin: () => void): void {
    const { socket } = response.req;
    const connection = this.bySocket.get(socket);
    if (connection === undefined || !socket.writable) return;
    const { last } = connection;
    connection.last = response;
    // A response has no socket while others are before it. Other connections get their turn between two requests.
    const isBehind = response.socket === null;
    if (!isBehind && !this.servedThisTurn.has(socket)) {
      this.noteTurn(socket);
      connection.current = response;
      begin();
      return;
    }
    connection.waiting += 1;
    this.allWaiting += 1;
    const beginInTurn = (): void => {
      // The answer before may have ended the connection.
      if (!socket.writable) return;
      connection.waiting -= 1;
      this.allWaiting -= 1;
      this.noteTurn(socket);
      connection.current = response;
      begin();
    };
    if (isBehind) last?.once('finish', () => setImmediate(beginInTurn));
    else setImmediate(beginInTurn);
  }

  private noteTurn(socket: Socket): void {
    if (this.servedThisTurn.size === 0) setImmediate(this.endTurn);
    this.servedThisTurn.add(socket);
  }

  /**
   * The parser reads 64 KiB at a time, and neither a pause nor the end of a connection stops it on the way. An upgrade does:
   * Node.js removes the parser, and makes no request of what it still holds. So a request that is to be dropped claims to
   * be an upgrade. Real upgrades are answered like other requests.
   */
  private takeParserFromDropped(requestPrototype: IncomingMessage): void {
    const isDropped = (request: IncomingMessage): boolean => {
      const connection = this.bySocket.get(request.socket);
      // The parser asks again for the last request that it has handed over.
      if (connection === undefined || connection.last?.req === request) return false;
      if (!request.socket.writable) return true;
      return connection.waiting >= MAX_UNANSWERED - 1 || (connection.waiting > 0 && this.allWaiting >= MAX_WAITING);
    };
    Object.defineProperty(requestPrototype, 'upgrade', {
      get(this: IncomingMessage) {
        return this.method === 'CONNECT' || isDropped(this);
      },
      // Node.js sets it for each request.
      set: () => undefined,
    });
    this.server.on('upgrade', ({ socket }) => {
      this.stopWithoutParser(socket);
      const last = this.bySocket.get(socket)?.last;
      if (last !== undefined) last.shouldKeepAlive = false;
    });
  }
}
