import { IncomingMessage, maxHeaderSize, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  ApiError,
  headersTooLarge,
  malformedRequest,
  methodNotAllowed,
  requestTimeout,
} from '../../errors/api-error.js';
import { sendError } from '../../http/send-json.js';
import { abortRequest } from '../../http/body-bytes.js';
import type { ConnectionQueue } from './connection-queue.js';
import type { HttpServerOptions } from './http-server.js';

/** Answers requests for which Node makes no response: those that its parser rejects or that arrive too slowly, and CONNECT. */
export function answerClientErrors(
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
  if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(limit);
  if (cause.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(maxHeaderSize);
  const reason = typeof cause.reason === 'string' ? cause.reason : cause.message;
  return malformedRequest(`This is not an HTTP request that can be read: ${reason}.`, cause);
}
