import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { RawResponse } from './raw-connection.js';

/** What HTTP/1.1 says of a connection, and HTTP/2 has not. */
const OF_A_CONNECTION = ['host', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect'];

interface Http2Request {
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

/** The request of HTTP/1.1 in these bytes as one of HTTP/2; undefined if HTTP/2, or Node's client of it, cannot say it. */
export function asHttp2(parts: readonly (string | Buffer)[]): Http2Request | undefined {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const end = bytes.indexOf('\r\n\r\n');
  const [requestLine = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, method, path, version] = /^([!-~]+) (\/[!-~]*) HTTP\/(\S+)$/.exec(requestLine) ?? [];
  if (method === undefined || path === undefined || version !== '1.1') return undefined;
  const headers: OutgoingHttpHeaders = { ':method': method, ':path': path };
  for (const field of fields) {
    const [name = '', value = ''] = field.split(/: ?(.*)/s, 2);
    const key = name.toLowerCase();
    if (['transfer-encoding', 'expect'].includes(key) || key in headers || /[^\t -~]/.test(value)) return undefined;
    if (!OF_A_CONNECTION.includes(key)) headers[key] = value.trim();
  }
  const body = bytes.subarray(end + 4);
  // A stream ends with its body: none can be shorter than its length says.
  if (headers['content-length'] !== undefined && Number(headers['content-length']) !== body.length) return undefined;
  return { headers, body };
}

/** Sends a request on a connection of its own, and resolves to its answer. */
export async function exchangeOverHttp2(url: string, { headers, body }: Http2Request): Promise<RawResponse> {
  const session = connect(url, { rejectUnauthorized: false });
  try {
    return await new Promise<RawResponse>((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request(headers, { endStream: body.length === 0 });
      let answer: IncomingHttpHeaders = {};
      const chunks: Buffer[] = [];
      // Of a body that the server takes no more of, the stream keeps the rest, and does not close.
      stream.on('response', (received) => (answer = received));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', reject);
      stream.on('end', () => {
        const entries = Object.entries(answer).filter(([name]) => !name.startsWith(':'));
        resolve({
          status: Number(answer[':status']),
          headers: Object.fromEntries(entries.map(([name, value]) => [name, String(value)])),
          body: Buffer.concat(chunks).toString('utf8'),
        });
      });
      if (body.length > 0) stream.end(body);
    });
  } finally {
    session.destroy();
  }
}
