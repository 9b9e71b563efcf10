import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { MIMEType } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import {
  bodyTooLarge,
  malformedRequest,
  missingBody,
  overloaded,
  unreadableBody,
  unsupportedMedia,
} from '../errors/api-error.js';
import { quote } from '../util/text.js';
import { type JsonObject, JsonSyntaxError, parseExactJson } from './exact-json.js';
import {
  headerValues,
  nodeRequest,
  nodeResponse,
  type PlatformRequest,
  type PlatformResponse,
  requestContext,
} from './request-context.js';

/**
 * Reads the body as one JSON object and keeps its numbers as text. In a host whose parser reads bodies, it reads the
 * bytes that Nest keeps with `rawBody: true`.
 *
 * @param limit the most bytes that the body may have
 * @param names the members to return; the syntax of the others is checked
 * @throws ApiError 40001, 40002, 40010, 41300, 41500 or 50301; Error if a parser read the body and kept no bytes
 */
export async function readJsonBody(
  request: PlatformRequest,
  response: PlatformResponse,
  limit: number,
  names: readonly string[],
): Promise<JsonObject> {
  const message = nodeRequest(request);
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': coding } = message.headers;
  const hasBody = Number(length) > 0 || coding !== undefined;
  if (!hasBody && type === undefined) throw missingBody('The request has no body');
  checkMediaType(message);
  const { rawBody } = request;
  if (Buffer.isBuffer(rawBody)) {
    if (rawBody.length > limit) throw bodyTooLarge(limit);
    return parseObject(rawBody, names);
  }
  const isRead = message.readableDidRead || message.readableEnded;
  if (isRead && hasBody) throw new Error(NO_BYTES);
  return parseObject(isRead ? Buffer.of() : await readBytes(message, nodeResponse(response), limit), names);
}

const NO_BYTES =
  'A body parser of the application read the body and kept no bytes, so ids could have been rounded. ' +
  'Keep them: NestFactory.create(AppModule, { rawBody: true }), and no other parser of JSON: ' +
  "app.useBodyParser('json', { limit }) raises the limit of Nest's. " +
  'On Fastify, fastify-raw-body with `encoding: false` keeps them too';

const JSON_TYPE = 'application/json';
/** The time to parse a media type grows with the square of its length. */
const MAX_MEDIA_TYPE_LENGTH = 256;

function checkMediaType(request: IncomingMessage): void {
  // `request.headers` has only the first value.
  const [type, ...others] = headerValues(request, 'content-type');
  if (type === undefined || others.length > 0) throw unsupportedMedia('The Content-Type is missing or repeated');
  if (type.length > MAX_MEDIA_TYPE_LENGTH)
    throw unsupportedMedia(`The media type has more than ${MAX_MEDIA_TYPE_LENGTH} characters`);
  if (type !== JSON_TYPE) {
    const parsed = parseMediaType(type);
    if (parsed?.essence !== JSON_TYPE) throw unsupportedMedia(`The media type ${quote(type)} is not supported`);
    const charset = parsed.params.get('charset') ?? 'utf-8';
    if (!/^utf-?8$/i.test(charset)) throw unsupportedMedia(`The charset ${quote(charset)} is not supported`);
  }
  const encoding = request.headers['content-encoding'] ?? '';
  // A list may be empty, or repeat a coding (RFC 9110, section 8.4).
  if (encoding.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase())))
    throw unsupportedMedia(`The content encoding ${quote(encoding)} is not supported`);
}

function parseMediaType(type: string): MIMEType | undefined {
  try {
    return new MIMEType(type);
  } catch {
    return undefined;
  }
}

/** Bodies up to this size are not counted, and their buffer is not larger: those of all connections take little. */
const SMALL_BYTES = 4 * 1024;
/** What all other bodies together may take. An eighth, because a body is copied several times until it is stored. */
const MAX_BODIES_BYTES = Math.floor(getHeapStatistics().heap_size_limit / 8);
let reservedBytes = 0;

/** Counts a body before it is read, until its request is answered or its connection is lost. @throws ApiError 50301 */
function reserve(bytes: number, { socket }: IncomingMessage, response: ServerResponse): void {
  if (bytes <= SMALL_BYTES) return;
  // The client may have gone while its token was looked up. No event would release the bytes then.
  if (socket.destroyed) throw malformedRequest('The connection was closed before the body was read.');
  if (reservedBytes + bytes > MAX_BODIES_BYTES) throw overloaded(new Error('the request bodies take too much memory'));
  reservedBytes += bytes;
  const release = (): void => {
    reservedBytes -= bytes;
    response.off('close', release);
    socket.off('close', release);
  };
  // A pipelined answer that never got its turn emits no `close` event.
  response.on('close', release);
  socket.on('close', release);
}

async function readBytes(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > limit) throw bodyTooLarge(limit);
  const capacity = length || Math.min(limit, SMALL_BYTES);
  reserve(capacity, request, response);
  if (requestContext(response).awaitsContinue) response.writeContinue();
  // In a list, a chunk of one byte would keep the whole buffer that it was read into.
  let buffer = Buffer.allocUnsafe(capacity);
  let size = 0;
  const add = (chunk: Buffer): void => {
    if (size + chunk.length > limit) throw bodyTooLarge(limit);
    if (size + chunk.length > buffer.length) {
      reserve(limit, request, response);
      buffer = Buffer.concat([buffer], limit);
    }
    size += chunk.copy(buffer, size);
  };
  return new Promise((resolve, reject: (failure: Error) => void) => {
    const onData = (chunk: Buffer): void => {
      try {
        add(chunk);
      } catch (failure) {
        request.off('data', onData);
        reject(failure as Error);
      }
    };
    request.on('data', onData);
    finished(request, { writable: false }, (cause) => {
      if (cause) reject(malformedRequest('The connection was closed before the whole body had arrived.', cause));
      else resolve(buffer.subarray(0, size));
    });
  });
}

function parseObject(bytes: Buffer, names: readonly string[]): JsonObject {
  if (bytes.length === 0) throw missingBody('The body is empty');
  if (!isUtf8(bytes)) throw unreadableBody('The body is not valid UTF-8. JSON is always sent as UTF-8.');
  const text = bytes.toString('utf8');
  if (text.startsWith('\uFEFF'))
    throw unreadableBody('The body begins with a byte order mark. JSON is sent without one.');
  try {
    const members = parseExactJson(text, names);
    if (members === undefined) throw missingBody('The body is JSON, but not an object');
    return members;
  } catch (cause) {
    if (!(cause instanceof JsonSyntaxError)) throw cause;
    const lines = text.slice(0, cause.position).split('\n');
    const place = `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
    throw unreadableBody(`The body is not JSON: ${cause.message}, at ${place}.`, cause);
  }
}
