import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { RawResponse } from './raw-connection.js';

/**
 * Calls an application as the adapters of platforms without servers do: with a request and a response of Node that no socket
 * belongs to, no raw headers, the body as the platform gives it, and an empty stream unless the adapter puts bytes there too.
 */
export async function callWithoutServer(
  application: RequestListener,
  headers: Record<string, string>,
  body: unknown,
  streamed?: Buffer,
): Promise<RawResponse> {
  const chunks: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  }) as Socket;
  const request = Object.assign(new IncomingMessage(socket), {
    method: 'POST',
    url: '/plants',
    complete: true,
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    headers,
    body,
  });
  if (streamed !== undefined) request.push(streamed);
  request.push(null);
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  const finished = new Promise((resolve) => response.once('finish', resolve));
  application(request, response);
  await finished;
  const [head = '', text = ''] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
  return { status: response.statusCode, headers: { head }, body: text };
}
