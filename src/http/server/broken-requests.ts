import { IncomingMessage, maxHeaderSize, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  ApiError,
  connectNotOffered,
  headersTooLarge,
  malformedRequest,
  requestTimeout as requestTimeoutError,
} from '../../errors/api-error.js';
import type { ErrorStatus } from '../../errors/error-catalogue.js';
import { abortRequest } from '../body-bytes.js';
import { sendError } from '../send-json.js';
import { isLingering, lingerOnClose, whenSent } from './connection-close.js';
import { arrivingNumber, lastResponse, readingMs } from './pipelining.js';

/** Answers requests for which Node makes no response: those that its parser rejects or that arrive too slowly, and CONNECT. */
export function refuseBrokenRequests(
  server: Server,
  { errorStatus, requestTimeout }: { errorStatus: ErrorStatus; requestTimeout: number },
  Response = ServerResponse,
): void {
  // Answers to the good requests before this one are in flight; an error in their place would be taken for theirs.
  const answerLast = (socket: Socket, failure: ApiError): void => {
    lingerOnClose(socket);
    whenSent(lastResponse(socket), () => {
      if (!socket.writable) return;
      const response = new Response(new IncomingMessage(socket));
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
    answerLast(socket, connectNotOffered());
  });

  const fail = (cause: NodeJS.ErrnoException, socket: Socket): void => {
    // It ends with the answer in flight; later bytes do not matter.
    if (isLingering(socket)) return;
    // A connection that is gone, or that never sent anything, gets no answer.
    if (!socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const failure = describe(cause, requestTimeout);
    const response = lastResponse(socket);
    if (!response || response.req.complete) {
      answerLast(socket, failure);
      return;
    }
    lingerOnClose(socket);
    if (!response.headersSent) response.setHeader('Connection', 'close');
    whenSent(response, () => {
      socket.destroySoon();
    });
    abortRequest(response.req, failure);
  };

  // Node also counts the time while the connection is not read, and reports a request only once.
  const failWhenLate = (cause: NodeJS.ErrnoException, socket: Socket, number?: number): void => {
    const arriving = number ?? arrivingNumber(socket);
    const request = lastResponse(socket)?.req;
    // The body is not read while a token is looked up, for example: it gets the whole time again.
    const isUnread = number === undefined && request?.complete === false && !request.readableFlowing;
    const left = isUnread ? requestTimeout : requestTimeout - readingMs(socket);
    const again = (): void => {
      if (arrivingNumber(socket) === arriving) failWhenLate(cause, socket, arriving);
    };
    if (left <= 0) fail(cause, socket);
    else setTimeout(again, left).unref();
  };

  server.on('clientError', (cause: NodeJS.ErrnoException, duplex) => {
    const isTimeout = cause.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    (isTimeout ? failWhenLate : fail)(cause, duplex as Socket);
  });
}

function describe(cause: NodeJS.ErrnoException & { reason?: unknown }, requestTimeout: number): ApiError {
  if (cause instanceof ApiError) return cause;
  switch (cause.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeoutError(requestTimeout);
    case 'HPE_HEADER_OVERFLOW':
      return headersTooLarge(maxHeaderSize);
    default: {
      const reason = typeof cause.reason === 'string' ? cause.reason : cause.message;
      return malformedRequest(`This is not an HTTP request that can be read: ${reason}.`, cause);
    }
  }
}
