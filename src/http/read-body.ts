import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { onArrivalFailure } from './server/broken-requests.js';
import { BodyTooLargeError, MissingBodyError, UnreadableBodyError, MalformedRequestError } from './http.errors.js';
import { decompress, detached, HeldBodies, SMALL_BODY, checkMediaType, ReceivedBytes } from './body-bytes.js';
import {
  parseExactJson,
  JsonNumber,
  type JsonObject,
  JsonStructure,
  JsonSyntaxError,
  exactObject,
} from './exact-json.js';
import { nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse } from './platform.js';
import { acceptBody } from './server/connection-close.js';
import { revealMediaType } from './body-parser-exemption.js';

const ALREADY_READ =
  'The body of the request was read before the store came to it, and not kept. Call exemptPlantsFromBodyParser() or create the application with `rawBody: true`; and no body parser may take every media type.';

/** Of all requests of the process, whose memory it is. */
const held = new HeldBodies();

/** What compression may add to a body that does not compress. */
const COMPRESSION_OVERHEAD = 64 * 1024;

/**
 * Reads a request's body from its raw stream as one JSON object with its numbers as they were written. Where the application's
 * own parser was first, what it kept is taken: the raw body, or else its values, as far as they are exact.
 *
 * @param limit bytes that the decoded body may have
 * @throws ApiError 40001, 40002, 40010, 40800, 41300 or 41500
 */
export async function readJsonObject(
  received: PlatformRequest,
  response: PlatformResponse,
  limit: number,
): Promise<JsonObject> {
  const request = nodeRequest(received);
  revealMediaType(request);
  if (!announcesBody(request) && request.headers['content-type'] === undefined) {
    throw new MissingBodyError('The request has no body');
  }
  const coding = checkMediaType(request);
  if (request.readableDidRead || request.readableEnded) return alreadyRead(request, received, limit);
  const wireLimit = coding === 'identity' ? limit : limit + COMPRESSION_OVERHEAD;
  if (Number(request.headers['content-length'] ?? 0) > wireLimit) throw new BodyTooLargeError(limit);

  acceptBody(request, nodeResponse(response));
  const bytes = await collect(request, wireLimit, limit);
  const isDecoded = coding === 'identity' || bytes.length === 0;
  const decoded = isDecoded ? bytes : await decompress(bytes, coding, limit);
  if (decoded.length < SMALL_BODY) return parseObject(decoded);
  held.hold(decoded.length, nodeResponse(response));
  return detached(parseObject(decoded));
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function alreadyRead(request: IncomingMessage, { body, rawBody }: PlatformRequest, limit: number): JsonObject {
  if (!request.readableDidRead) throw new MissingBodyError('The body is empty');
  // A parser for every media type leaves the bytes as the body.
  const bytes = [rawBody, body].find((kept) => Buffer.isBuffer(kept));
  if (bytes !== undefined) {
    if (bytes.length > limit) throw new BodyTooLargeError(limit);
    return parseObject(bytes);
  }
  if (typeof body !== 'object' || body === null) throw new Error(ALREADY_READ);
  if (Array.isArray(body)) throw new MissingBodyError('The body is JSON, but not an object');
  return exactObject(body);
}

/** Collects the bytes of a body, and gives up as soon as there are more than `wireLimit`. */
function collect(request: IncomingMessage, wireLimit: number, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The event that tells of it does not come a second time.
    if (request.destroyed) throw closedEarly();
    const received = new ReceivedBytes();
    const settle = (failure?: Error): void => {
      request.off('data', onData).off('end', settle).off('close', onClose).off('error', onClose);
      if (failure) reject(failure);
      else resolve(received.bytes());
    };
    const onData = (chunk: Buffer): void => {
      if (received.length + chunk.length > wireLimit) settle(new BodyTooLargeError(limit));
      else received.add(chunk);
    };
    const onClose = (cause?: Error): void => {
      settle(closedEarly(cause));
    };
    request.on('data', onData).on('end', settle).on('close', onClose).on('error', onClose);
    onArrivalFailure(request, settle);
  });
}

function closedEarly(cause?: Error): MalformedRequestError {
  return new MalformedRequestError('The connection was closed before the whole body had arrived.', { cause });
}

function parseObject(bytes: Buffer): JsonObject {
  if (bytes.length === 0) throw new MissingBodyError('The body is empty');
  if (!isUtf8(bytes)) throw new UnreadableBodyError('The body is not valid UTF-8. JSON is always sent as UTF-8.');
  const text = bytes.toString('utf8');
  if (text.startsWith('\uFEFF')) {
    throw new UnreadableBodyError('The body begins with a byte order mark. JSON is sent without one.');
  }
  const value = parse(text);
  if (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof JsonNumber) &&
    !(value instanceof JsonStructure)
  ) {
    return value;
  }
  throw new MissingBodyError('The body is JSON, but not an object');
}

function parse(text: string): ReturnType<typeof parseExactJson> {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const before = text.slice(0, error.position).split('\n');
    const line = before.length;
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw new UnreadableBodyError(`The body is not JSON: ${error.message}, at line ${line}, column ${column}.`, {
      cause: error,
    });
  }
}
