import {
  createServer,
  IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, headersTooLarge, malformedRequest, methodNotAllowed, requestTimeout } from '../errors/api-error.js';
import { abortRequest, deferContinue } from '../http/body-bytes.js';
import { headerValues } from '../http/platform.js';
import { sendError } from '../http/send-json.js';
import type { Environment } from '../config/environment.js';
import { Connections } from './connections.js';

type HttpServerOptions = Pick<Environment, 'ERROR_STATUS' | 'REQUEST_TIMEOUT'>;
export interface HttpServerClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/** Usual reverse proxies have a shorter idle time. Otherwise they would use a connection that is just closing. */
const KEEP_ALIVE_MS = 65_000;

/** A server of Node.js that answers every failure in our format, also those that Node.js would answer itself. */
export function createHttpServer(
  listener: RequestListener,
  options: HttpServerOptions,
  classes: HttpServerClasses,
): { server: Server; connections: Connections } {
  const { ERROR_STATUS, REQUEST_TIMEOUT } = options;
  const server = createServer({
    ...classes,
    // `faultOf` checks the Host header: Node.js would answer with an empty body.
    requireHostHeader: false,
    requestTimeout: REQUEST_TIMEOUT,
    headersTimeout: REQUEST_TIMEOUT,
    // With a longer interval, 40800 would come late.
    connectionsCheckingInterval: Math.min(1000, Math.ceil(REQUEST_TIMEOUT / 4)),
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  // A client may close its half of the connection and still wait for the answer. Node.js has no option for that.
  Object.assign(server, { httpAllowHalfOpen: true });
  // By default Node.js drops header fields beyond a number, even a repeated credential. Their size is still limited.
  server.maxHeadersCount = 0;
  const connections = new Connections(server, classes.IncomingMessage.prototype);
  // Node.js applies this limit during a request, and KEEP_ALIVE_MS between two.
  server.timeout = REQUEST_TIMEOUT;
  server.on('timeout', (socket: Socket) => {
    // A client that does not read its answers would hold its connection for ever. Others still wait for an answer.
    if (socket.writableLength > 0 || connections.bySocket.get(socket)?.last?.writableFinished) socket.destroy();
  });

  const answer = (request: IncomingMessage, response: ServerResponse, unmet?: string): void => {
    connections.whenFree(response, () => {
      const fault = faultOf(request) ?? unmet;
      if (fault === undefined) {
        request.url = routableTarget(request.url ?? '/');
        listener(request, response);
      } else sendError(response, malformedRequest(fault), ERROR_STATUS);
    });
  };
  server.on('request', answer);
  const answerExpectation = (request: IncomingMessage, response: ServerResponse): void => {
    const { expect = '' } = request.headers;
    const isKnown = expect.toLowerCase() === '100-continue';
    // The body reader sends the 100 after the guard.
    if (isKnown) deferContinue(request);
    const unmet = `This service does not know the expectation ${JSON.stringify(expect)}, only "100-continue".`;
    answer(request, response, isKnown ? undefined : unmet);
  };
  // Node.js emits the first event for each Expect header that has "100-continue" somewhere in it.
  server.on('checkContinue', answerExpectation).on('checkExpectation', answerExpectation);
  answerClientErrors(server, connections, options, classes.ServerResponse);
  return { server, connections };
}

/** The rule of HTTP/1.1 that a request breaks. The parser of Node.js does not check these. */
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
 * Replaces a target that the router cannot read: one that does not decode (`/%`), is no path (`*`) or has a fragment.
 * The guard then sees it like every unknown path.
 */
function routableTarget(url: string): string {
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

/** Answers requests without a response of Node.js: rejected by the parser, too slow, or CONNECT. */
function answerClientErrors(
  server: Server,
  connections: Connections,
  { ERROR_STATUS, REQUEST_TIMEOUT }: HttpServerOptions,
  Response: typeof ServerResponse,
): void {
  const answerLast = (socket: Socket, failure: ApiError): void => {
    // The client would take this answer for that of an earlier request, so it is sent last.
    whenSent(connections.bySocket.get(socket)?.last, () => {
      if (!socket.writable) return;
      const response = new Response(new IncomingMessage(socket));
      response.assignSocket(socket);
      // The request never ends, so this ends our half of the connection, and later the other half.
      sendError(response, failure, ERROR_STATUS);
    });
  };

  server.on('connect', ({ socket }) => {
    connections.stopWithoutParser(socket);
    answerLast(socket, methodNotAllowed({ Connection: 'close' }));
  });

  server.on('clientError', (cause: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    // Node.js also reports what comes later on the same connection.
    if (!connections.markStopped(socket)) return;
    // A closed connection, or one that never sent anything, gets no answer.
    if (!socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const failure = clientErrorOf(cause, REQUEST_TIMEOUT);
    const response = connections.bySocket.get(socket)?.last;
    if (response === undefined || response.req.complete) {
      answerLast(socket, failure);
      return;
    }
    response.shouldKeepAlive = false;
    // The request may be answered already, for its credential for example.
    if (response.headersSent) socket.destroySoon();
    abortRequest(response.req, failure);
  });
}

/** Calls back when the response has left the connection. Only then can the connection carry another one or end. */
function whenSent(response: ServerResponse | undefined, callback: () => void): void {
  // A written response still holds its socket for a moment.
  if (response && !(response.writableFinished && response.socket === null)) response.once('finish', callback);
  else callback();
}

function clientErrorOf(cause: NodeJS.ErrnoException & { reason?: unknown }, limit: number): ApiError {
  if (cause instanceof ApiError) return cause;
  if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(`within ${limit} ms`);
  if (cause.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(maxHeaderSize);
  const reason = typeof cause.reason === 'string' ? cause.reason : cause.message;
  return malformedRequest(`This is not an HTTP request that can be read: ${reason}.`, cause);
}
