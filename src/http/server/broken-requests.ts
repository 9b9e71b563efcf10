import { IncomingMessage, maxHeaderSize, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../../errors/api-error.js';
import type { ErrorStatus } from '../../errors/error-catalogue.js';
import {
  ConnectNotOfferedError,
  HeadersTooLargeError,
  MalformedRequestError,
  RequestTimeoutError,
} from '../http.errors.js';
import { sendError } from '../platform.js';
import { isLingering, lingerOnClose, whenSent } from './connection-close.js';
import { readingMs } from './pipelining.js';

/** Answers what Node gives no response for: what its parser rejects, what arrives too slowly, and CONNECT. */
export function refuseBrokenRequests(
  server: Server,
  { errorStatus, requestTimeout }: { errorStatus: ErrorStatus; requestTimeout: number },
): void {
  // Pipelined requests are answered in order, so the last one of a connection comes after all others.
  const last = new WeakMap<Socket, { request: IncomingMessage; response: ServerResponse; number: number }>();
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.prependListener(event, (request: IncomingMessage, response: ServerResponse) => {
      const number = (last.get(request.socket)?.number ?? 0) + 1;
      last.set(request.socket, { request, response, number });
    });
  }
  /** The number, on its connection, of the request that has not arrived in full; it may not have begun. */
  const arriving = (socket: Socket): number => {
    const { request, number = 0 } = last.get(socket) ?? {};
    return request?.complete === false ? number : number + 1;
  };

  // Node counts the time in which the connection is not read too, and reports a request once only.
  const failWhenLate = (socket: Socket, number: number, fail: () => void): void => {
    const left = requestTimeout - readingMs(socket);
    if (left <= 0) fail();
    else {
      const timer = setTimeout(() => {
        if (arriving(socket) === number) failWhenLate(socket, number, fail);
      }, left);
      socket.once('close', () => {
        clearTimeout(timer);
      });
    }
  };

  // Answers to the good requests before this one are in flight; an error in their place would be taken for theirs.
  const answerLast = (socket: Socket, failure: ApiError): void => {
    lingerOnClose(socket);
    whenSent(last.get(socket)?.response, () => {
      if (!socket.writable) return;
      const response = new ServerResponse(new IncomingMessage(socket));
      response.assignSocket(socket);
      response.on('finish', () => {
        socket.destroySoon();
      });
      sendError(response, failure, errorStatus);
    });
  };

  server.on('connect', (_request, duplex) => {
    const socket = duplex as Socket;
    // Node hands the connection over without its own listener, and an error without a listener ends the process.
    socket.on('error', () => socket.destroy());
    answerLast(socket, new ConnectNotOfferedError());
  });

  const broken = new WeakSet<Socket>();
  const fail = (cause: NodeJS.ErrnoException, socket: Socket): void => {
    // A request that never ends is no failure of a connection that is closing all the same.
    if (broken.has(socket) || (isLingering(socket) && !socket.writable)) return;
    broken.add(socket);
    // A connection that is gone, or that never sent anything, gets no answer.
    if (!socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const failure = describe(cause, requestTimeout);
    const { request, response } = last.get(socket) ?? {};
    if (!request || !response || request.complete) {
      answerLast(socket, failure);
      return;
    }
    lingerOnClose(socket);
    if (!response.headersSent) response.setHeader('Connection', 'close');
    whenSent(response, () => {
      socket.destroySoon();
    });
    abortRequest(request, failure);
  };

  server.on('clientError', (cause: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    if (cause.code !== 'ERR_HTTP_REQUEST_TIMEOUT') fail(cause, socket);
    else {
      failWhenLate(socket, arriving(socket), () => {
        fail(cause, socket);
      });
    }
  });
}

function describe(cause: NodeJS.ErrnoException & { reason?: unknown }, requestTimeout: number): ApiError {
  if (cause instanceof ApiError) return cause;
  switch (cause.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RequestTimeoutError(requestTimeout);
    case 'HPE_HEADER_OVERFLOW':
      return new HeadersTooLargeError(maxHeaderSize);
    default: {
      const reason = typeof cause.reason === 'string' ? cause.reason : cause.message;
      return new MalformedRequestError(`This is not an HTTP request that can be read: ${reason}.`, { cause });
    }
  }
}

const ABORTED = Symbol('request aborted');
const failures = new WeakMap<IncomingMessage, ApiError>();

function abortRequest(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(ABORTED, failure);
}

/** Calls back when the rest of a request will not arrive: at once if that is known already. */
export function onRequestAbort(request: IncomingMessage, callback: (failure: ApiError) => void): void {
  const failure = failures.get(request);
  if (failure) callback(failure);
  else request.once(ABORTED, callback);
}
