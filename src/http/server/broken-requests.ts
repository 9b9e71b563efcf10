import { IncomingMessage, maxHeaderSize, type Server, ServerResponse } from 'node:http';
import type { ApiError } from '../../errors/api-error.js';
import type { Socket } from 'node:net';
import type { ErrorStatus } from '../../errors/error-catalogue.js';
import { sendError } from '../send-error.js';
import { isLingering, lingerOnClose, whenSent } from './connection-close.js';
import {
  ConnectNotOfferedError,
  HeadersTooLargeError,
  MalformedRequestError,
  RequestTimeoutError,
} from '../http.errors.js';

const FAILED = Symbol('arrival failed');
const failures = new WeakMap<IncomingMessage, ApiError>();

/** Tells whoever reads this request's body that the rest of it will not arrive. */
function failArrival(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(FAILED, failure);
}

/** Calls back when the rest of the request fails to arrive, at once if it has failed already. */
export function onArrivalFailure(request: IncomingMessage, callback: (failure: ApiError) => void): void {
  const failure = failures.get(request);
  if (failure) callback(failure);
  else request.once(FAILED, callback);
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Answers what Node gives no response for: what its parser rejects, what arrives too slowly, and CONNECT. */
export function refuseBrokenRequests(
  server: Server,
  { errorStatus, requestTimeout }: { errorStatus: ErrorStatus; requestTimeout: number },
): void {
  // Pipelined requests are answered in order, so the latest one of a connection stands for all before it.
  const latest = new WeakMap<Socket, Exchange>();
  const remember = (request: IncomingMessage, response: ServerResponse): void => {
    latest.set(request.socket, { request, response });
  };
  server.prependListener('request', remember);
  server.prependListener('checkContinue', remember);
  server.prependListener('checkExpectation', remember);

  // Answers to the good requests before this one are under way; an error in their place would be taken for theirs.
  const answerLast = (socket: Socket, failure: ApiError): void => {
    lingerOnClose(socket);
    whenSent(latest.get(socket)?.response, () => {
      answer(socket, failure, errorStatus);
    });
  };

  server.on('connect', (_request, duplex) => {
    const socket = duplex as Socket;
    // Node hands the connection over without its own listener, and an error that nobody listens to ends the process.
    socket.on('error', () => socket.destroy());
    answerLast(socket, new ConnectNotOfferedError());
  });

  const broken = new WeakSet<Socket>();
  server.on('clientError', (cause: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    // A request that never ends is no failure of a connection that is closing all the same.
    if (broken.has(socket) || (isLingering(socket) && !socket.writable)) return;
    broken.add(socket);
    // Neither a connection that is gone nor one that never said anything is owed an answer.
    if (!socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const failure = describe(cause, requestTimeout);
    const exchange = latest.get(socket);
    if (exchange && !exchange.request.complete) {
      lingerOnClose(socket);
      if (!exchange.response.headersSent) exchange.response.setHeader('Connection', 'close');
      whenSent(exchange.response, () => {
        socket.destroySoon();
      });
      failArrival(exchange.request, failure);
    } else {
      answerLast(socket, failure);
    }
  });
}

function answer(socket: Socket, failure: ApiError, errorStatus: ErrorStatus): void {
  if (!socket.writable) return;
  const response = new ServerResponse(new IncomingMessage(socket));
  response.assignSocket(socket);
  response.on('finish', () => {
    socket.destroySoon();
  });
  sendError(response, failure, errorStatus);
}

function describe(cause: NodeJS.ErrnoException, requestTimeout: number): ApiError {
  switch (cause.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RequestTimeoutError(requestTimeout);
    case 'HPE_HEADER_OVERFLOW':
      return new HeadersTooLargeError(maxHeaderSize);
    default: {
      const reason = 'reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message;
      return new MalformedRequestError(`This is not an HTTP request that can be read: ${reason}.`, { cause });
    }
  }
}
