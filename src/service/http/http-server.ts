import {
  createServer,
  IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import {
  ApiError,
  headersTooLarge,
  malformedRequest,
  methodNotAllowed,
  requestTimeout,
} from '../../errors/api-error.js';
import { abortRequest, deferContinue } from '../../http/body-bytes.js';
import { headerValues } from '../../http/platform.js';
import { sendError } from '../../http/send-json.js';
import type { Environment } from '../environment.js';
import { ConnectionQueue } from './connection-queue.js';

export type HttpServerOptions = Pick<Environment, 'ERROR_STATUS' | 'REQUEST_TIMEOUT'>;
export type HttpServerClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

/** Longer than the idle time of the usual reverse proxies, which else reuse a connection that is just closing. */
const KEEP_ALIVE_MS = 65_000;

/** Node's HTTP server. Requests that Node would refuse by itself, with another body or an empty one, are answered like every failure. */
export function createHttpServer(
  listener: RequestListener,
  options: HttpServerOptions,
  classes: HttpServerClasses = {},
): { server: Server; queue: ConnectionQueue } {
  const { ERROR_STATUS, REQUEST_TIMEOUT } = options;
  const server = createServer({
    ...classes,
    // Checked below: Node's own check answers with an empty body.
    requireHostHeader: false,
    requestTimeout: REQUEST_TIMEOUT,
    headersTimeout: REQUEST_TIMEOUT,
    // Less often, and 40800 would come late.
    connectionsCheckingInterval: Math.min(1000, Math.ceil(REQUEST_TIMEOUT / 4)),
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  // A client that closes its half of the connection has sent all, and still waits for the answer. Node has no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Node would silently drop header fields beyond a number, a repeated credential among them. Their size is limited all the same.
  server.maxHeadersCount = 0;
  const queue = new ConnectionQueue(server);
  // Node sets this one for each request, and KEEP_ALIVE_MS between two of them.
  server.timeout = REQUEST_TIMEOUT;
  server.on('timeout', (socket: Socket) => {
    // A client that stops reading its answers would hold them and its connection for ever. Else the answer is still being made.
    if (socket.writableLength > 0 || queue.connections.get(socket)?.last?.writableFinished) socket.destroy();
  });

  const answer = (request: IncomingMessage, response: ServerResponse, unmet?: string): void => {
    queue.whenFree(response, () => {
      const fault = faultOf(request) ?? unmet;
      if (fault === undefined) {
        request.url = readableTarget(request.url ?? '/');
        listener(request, response);
      } else sendError(response, malformedRequest(fault), ERROR_STATUS);
    });
  };
  server.on('request', answer);
  server.on('checkExpectation', (request, response) => {
    const expectation = JSON.stringify(request.headers.expect);
    answer(request, response, `This service does not know the expectation ${expectation}, only "100-continue".`);
  });
  server.on('checkContinue', (request, response) => {
    // The body reader sends the 100 after the credential was checked.
    deferContinue(request);
    answer(request, response);
  });
  answerClientErrors(server, queue, options, classes.ServerResponse);
  return { server, queue };
}

/** What in a request breaks the rules of HTTP/1.1 that Node's parser does not check. */
function faultOf(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return `This service speaks HTTP/1.1 and HTTP/1.0, not HTTP/${httpVersion}.`;
  const hosts = headerValues(request, 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return `An HTTP/1.1 request has exactly one Host header, this one has ${hosts}.`;
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    return 'The only transfer coding that this service reads is "chunked", in HTTP/1.1.';
  return undefined;
}

/**
 * A target that does not decode (`/%`), is no path (`*`) or has a fragment, which the router would cut off, names nothing here.
 * It is replaced by a path that the router can read, so that the guard sees it like every unknown path.
 */
function readableTarget(url: string): string {
  if (url === '*') return '/*';
  if (!url.includes('%') && !url.includes('#')) return url;
  const [path = ''] = url.split('?', 1);
  try {
    decodeURIComponent(path);
  } catch {
    return '/%25';
  }
  return path.includes('#') ? '/%23' : url;
}

/** Answers requests for which Node makes no response: those that its parser rejects or that arrive too slowly, and CONNECT. */
function answerClientErrors(
  server: Server,
  queue: ConnectionQueue,
  { ERROR_STATUS, REQUEST_TIMEOUT }: HttpServerOptions,
  Response = ServerResponse,
): void {
  const answerLast = (socket: Socket, failure: ApiError): void => {
    // In the place of an answer to a good request before, it would be taken for that one.
    whenSent(queue.connections.get(socket)?.last, () => {
      if (!socket.writable) return;
      const response = new Response(new IncomingMessage(socket));
      response.assignSocket(socket);
      // As its request never arrives in full, this ends our half of the connection, and the other half after a while.
      sendError(response, failure, ERROR_STATUS);
    });
  };

  server.on('connect', (_request, duplex) => {
    const socket = duplex as Socket;
    // Node hands the connection over without its own listeners: an error without one ends the process, and nothing reads.
    socket.on('error', () => socket.destroy()).resume();
    queue.stop(socket);
    answerLast(socket, methodNotAllowed({ Connection: 'close' }));
  });

  server.on('clientError', (cause: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    // Node reports what comes later on the same connection, too.
    if (!queue.stop(socket)) return;
    // A connection that is gone, or that never sent anything, gets no answer.
    if (!socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const failure = failureOf(cause, REQUEST_TIMEOUT);
    const response = queue.connections.get(socket)?.last;
    if (response === undefined || response.req.complete) {
      answerLast(socket, failure);
      return;
    }
    response.shouldKeepAlive = false;
    // It may be answered already: for its credential, for example.
    if (response.headersSent) socket.destroySoon();
    abortRequest(response.req, failure);
  });
}

/** Calls back when the connection is free of this response: only then can it carry another one, or end. */
function whenSent(response: ServerResponse | undefined, callback: () => void): void {
  // A response still holds its socket for a while when all of it has been written.
  if (response && !(response.writableFinished && response.socket === null)) response.once('finish', callback);
  else callback();
}

function failureOf(cause: NodeJS.ErrnoException & { reason?: unknown }, limit: number): ApiError {
  if (cause instanceof ApiError) return cause;
  if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(`within ${limit} ms`);
  if (cause.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(maxHeaderSize);
  const reason = typeof cause.reason === 'string' ? cause.reason : cause.message;
  return malformedRequest(`This is not an HTTP request that can be read: ${reason}.`, cause);
}
