import {
  createServer,
  IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Environment } from '../config/environment.js';
import {
  type ApiError,
  headersTooLarge,
  malformedRequest,
  methodNotAllowed,
  requestTimeout,
} from '../errors/api-error.js';
import { headerValues, requestContext, type ResponseHook } from '../http/request-context.js';
import { sendError } from '../http/send-json.js';

type HttpServerOptions = Pick<Environment, 'ERROR_STATUS' | 'MAX_CONNECTIONS' | 'REQUEST_TIMEOUT'>;
interface HttpClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/** What is known of an open connection. */
interface Connection {
  /** The response to the last request. Answers keep their order, so it is sent last. */
  last: ServerResponse | undefined;
  /** Requests that have no answer yet, or that began in this turn of the event loop. */
  open: number;
  /** The last answer is decided. What comes behind it is not carried out. */
  isEnding: boolean;
}

/** Usual reverse proxies have a shorter idle time. Otherwise they would use a connection that is just closing. */
const KEEP_ALIVE_MS = 65_000;
/** A connection with more open requests is cut off. Each takes some 2 KB, and Node.js reads 3,600 in one go. */
const MAX_OPEN_REQUESTS = 32;

/** A server of Node.js that answers every failure in our format, also those that Node.js would answer itself. */
export class HttpServer {
  readonly classes: HttpClasses;
  readonly server: Server;
  readonly connections = new Map<Socket, Connection>();

  constructor(
    private readonly listener: RequestListener,
    private readonly environment: HttpServerOptions,
    hooks: readonly ResponseHook[],
  ) {
    const { MAX_CONNECTIONS, REQUEST_TIMEOUT } = environment;
    this.classes = classesWith(hooks);
    this.server = createServer({
      ...this.classes,
      // `violationOf` checks the Host header: Node.js would answer with an empty body.
      requireHostHeader: false,
      requestTimeout: REQUEST_TIMEOUT,
      headersTimeout: REQUEST_TIMEOUT,
      // With a longer interval, 40800 would come late.
      connectionsCheckingInterval: Math.min(1000, Math.ceil(REQUEST_TIMEOUT / 4)),
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    // Node.js would drop header fields beyond a number, even a repeated credential. Their size is limited too.
    this.server.maxHeadersCount = 0;
    this.server.maxConnections = MAX_CONNECTIONS;
    // Node.js applies this limit during a request, and KEEP_ALIVE_MS between two.
    this.server.timeout = REQUEST_TIMEOUT;
    this.limitOpenRequests();
    this.server
      .on('connection', this.onConnection.bind(this))
      .on('timeout', this.onTimeout.bind(this))
      .on('request', this.onRequest.bind(this))
      // Node.js emits the first event for each Expect header that has "100-continue" somewhere in it.
      .on('checkContinue', this.onExpect.bind(this))
      .on('checkExpectation', this.onExpect.bind(this))
      .on('connect', this.onConnect.bind(this))
      .on('upgrade', this.onUpgrade.bind(this))
      .on('clientError', this.onClientError.bind(this));
  }

  private onConnection(socket: Socket): void {
    this.connections.set(socket, { last: undefined, open: 0, isEnding: false });
    socket.once('close', () => this.connections.delete(socket));
  }

  private onTimeout(socket: Socket): void {
    // A client that does not read its answers would hold its connection for ever. Others still wait for an answer.
    if (socket.writableLength > 0 || this.connections.get(socket)?.last?.writableFinished) socket.destroy();
  }

  private onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.connections.get(request.socket);
    if (connection === undefined) return;
    connection.last = response;
    connection.open += 1;
    response.on('close', () => setImmediate(countDown, connection));
    const violation = violationOf(request);
    if (violation === undefined) {
      this.listener(request, response);
      return;
    }
    connection.isEnding = true;
    sendError(response, malformedRequest(violation), this.environment.ERROR_STATUS);
  }

  private onExpect(request: IncomingMessage, response: ServerResponse): void {
    requestContext(response).awaitsContinue = true;
    this.onRequest(request, response);
  }

  private onConnect({ socket }: IncomingMessage): void {
    discard(socket);
    this.answerLast(socket, methodNotAllowed({ Connection: 'close' }));
  }

  /** A request beyond the limit, see `limitOpenRequests`. */
  private onUpgrade({ socket }: IncomingMessage): void {
    // The last answer may still be on its way.
    if (this.connections.get(socket)?.isEnding) discard(socket);
    else socket.destroy();
  }

  /** What the parser refuses, and requests that arrive too slowly. */
  private onClientError(cause: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection === undefined || connection.isEnding) {
      // Node.js reports each later packet. But the rest of a refused request has only so much time to arrive.
      if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') socket.destroySoon();
      return;
    }
    connection.isEnding = true;
    const { last } = connection;
    const failure = clientErrorOf(cause, this.environment.REQUEST_TIMEOUT);
    // A closed connection, or one that never sent anything, gets no answer.
    if (!socket.writable || socket.bytesRead === 0) socket.destroy();
    else if (last === undefined || last.req.complete) this.answerLast(socket, failure);
    else if (last.headersSent) socket.destroySoon();
    else {
      last.shouldKeepAlive = false;
      // The guard may be about to refuse this request, for its credential.
      setImmediate(sendError, last, failure, this.environment.ERROR_STATUS);
    }
  }

  /** Answers without a request of Node.js. The client would take it for an earlier answer, so it is sent last. */
  private answerLast(socket: Socket, failure: ApiError): void {
    const last = this.connections.get(socket)?.last;
    const answer = (): void => {
      if (!socket.writable) return;
      const response = new this.classes.ServerResponse(new IncomingMessage(socket));
      response.assignSocket(socket);
      // The request never ends, so this ends our half of the connection, and later the other half.
      sendError(response, failure, this.environment.ERROR_STATUS);
    };
    // A written response still holds its socket for a moment.
    if (last === undefined || (last.writableFinished && last.socket === null)) answer();
    else last.once('finish', answer);
  }

  /**
   * The parser reads 64 KiB at a time, and neither a pause nor the end of a connection stops it on the way. An upgrade
   * does: Node.js removes the parser. So a request beyond the limit claims to be one. Real ones are ordinary requests.
   */
  private limitOpenRequests(): void {
    const { connections } = this;
    Object.defineProperty(this.classes.IncomingMessage.prototype, 'upgrade', {
      get(this: IncomingMessage) {
        const connection = connections.get(this.socket);
        // The parser asks again for the last request that it has handed over.
        if (connection === undefined || connection.last?.req === this) return false;
        return this.method === 'CONNECT' || connection.isEnding || connection.open >= MAX_OPEN_REQUESTS;
      },
      // Node.js sets it for each request.
      set: () => undefined,
    });
  }
}

/** Classes of this server alone, as Express changes their prototypes. Their answers call the hooks. */
function classesWith(hooks: readonly ResponseHook[]): HttpClasses {
  class ObservedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    readonly #arrivedAt = performance.now();

    // Node.js calls it too, unless other code has called it.
    override writeHead(status: number, ...fields: unknown[]): this {
      const durationMs = performance.now() - this.#arrivedAt;
      if (!this.headersSent) for (const hook of hooks) hook.beforeHead(this, durationMs);
      return super.writeHead(status, ...(fields as []));
    }
  }
  return { IncomingMessage: class extends IncomingMessage {}, ServerResponse: ObservedResponse };
}

function countDown(connection: Connection): void {
  connection.open -= 1;
}

/** Reads on without a parser. Node.js has removed its own listeners, and an error without one would end the process. */
function discard(socket: Socket): void {
  const cut = (): unknown => socket.destroy();
  socket.on('error', cut).on('timeout', cut).resume();
}

/** The rule of HTTP that a request breaks. The parser of Node.js does not check these. */
function violationOf(request: IncomingMessage): string | undefined {
  const { httpVersion } = request;
  const { expect, 'transfer-encoding': coding } = request.headers;
  const hosts = headerValues(request, 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return `An HTTP/1.1 request has exactly one Host header, this one has ${hosts}.`;
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    return 'The only transfer coding that this service reads is "chunked", in HTTP/1.1.';
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion === '1.1')
    return `This service does not know the expectation ${JSON.stringify(expect)}, only "100-continue".`;
  return undefined;
}

function clientErrorOf(cause: NodeJS.ErrnoException, limit: number): ApiError {
  if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(limit);
  if (cause.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(maxHeaderSize);
  return malformedRequest(`This is not an HTTP request that can be read: ${cause.message}.`, cause);
}
