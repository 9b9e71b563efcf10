import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { malformedRequest } from '../../errors/api-error.js';
import { deferContinue } from '../../http/body-bytes.js';
import { headerValues } from '../../http/platform.js';
import { sendError } from '../../http/send-json.js';
import type { Environment } from '../environment.js';
import { answerClientErrors } from './client-errors.js';
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
  const { ERROR_STATUS, REQUEST_TIMEOUT: requestTimeout } = options;
  const server = createServer({
    ...classes,
    // Checked below: Node's own check answers with an empty body.
    requireHostHeader: false,
    requestTimeout,
    headersTimeout: requestTimeout,
    // Less often, and 40800 would come late.
    connectionsCheckingInterval: Math.min(1000, Math.ceil(requestTimeout / 4)),
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  // A client that closes its half of the connection has sent all, and still waits for the answer. Node has no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Node would silently drop header fields beyond a number, a repeated credential among them. Their size is limited all the same.
  server.maxHeadersCount = 0;
  const queue = new ConnectionQueue(server);
  // Node sets this one for each request, and KEEP_ALIVE_MS between two of them.
  server.timeout = requestTimeout;
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
