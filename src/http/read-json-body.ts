import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { MIMEType } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { bodyTooLarge, missingBody, unreadableBody, unsupportedMedia } from '../errors/api-error.js';
import { quote } from '../util/text.js';
import { MIN_COUNTED_BYTES, readBytes } from './body-bytes.js';
import { type JsonObject, JsonSyntaxError, parseExactJson } from './exact-json.js';
import { headerValues, nodeRequest, nodeResponse, type PlatformRequest, type PlatformResponse } from './platform.js';

/**
 * Reads the body as one JSON object and keeps its numbers as text. In a host whose parser reads bodies, it reads the
 * bytes that Nest keeps with `rawBody: true`.
 *
 * @param limit the most bytes that the body may have
 * @param names the members to return; the syntax of the others is checked
 * @throws ApiError 40001, 40002, 40010, 40800, 41300, 41500 or 50301; Error if a parser read the body and kept no bytes
 */
export async function readJsonBody(
  request: PlatformRequest,
  response: PlatformResponse,
  limit: number,
  names: readonly string[],
): Promise<JsonObject> {
  const message = nodeRequest(request);
  if (!announcesBody(message) && message.headers['content-type'] === undefined)
    throw missingBody('The request has no body');
  checkMediaType(message);
  const { rawBody } = request;
  if (Buffer.isBuffer(rawBody)) {
    if (rawBody.length > limit) throw bodyTooLarge(limit);
    return parseObject(rawBody, names);
  }
  if (message.readableDidRead || message.readableEnded) {
    if (!announcesBody(message)) throw missingBody('The body is empty');
    throw new Error(typeof rawBody === 'string' ? NO_BUFFER : NO_BYTES);
  }
  const bytes = await readBytes(message, nodeResponse(response), limit);
  // An adapter may have read the body and left an empty stream.
  if (bytes.length === 0 && Number(message.headers['content-length']) > 0) throw new Error(NO_BYTES);
  const object = parseObject(bytes, names);
  if (bytes.length >= MIN_COUNTED_BYTES) copyStrings(object);
  return object;
}

function announcesBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (length !== undefined) return Number(length) > 0;
  // An HTTP/2 request may have a body without either.
  return coding !== undefined || (request as { stream?: ServerHttp2Stream }).stream?.endAfterHeaders === false;
}

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

const NO_BYTES =
  "A body parser of the application read the body and kept no bytes, so ids could have been rounded. Keep them: NestFactory.create(AppModule, { rawBody: true }), and no other parser of JSON: app.useBodyParser('json', { limit }) raises the limit of Nest's";
const NO_BUFFER =
  'rawBody of the request should be a Buffer: as text, it may have lost bytes. Register fastify-raw-body with `encoding: false`';

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
    const before = text.slice(0, cause.position);
    let line = 1;
    for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line += 1;
    const place = `line ${line}, column ${before.length - before.lastIndexOf('\n')}`;
    throw unreadableBody(`The body is not JSON: ${cause.message}, at ${place}.`, cause);
  }
}

/** Copies the strings. In V8 a substring keeps the whole text in memory. */
function copyStrings(object: JsonObject): void {
  for (const [key, value] of Object.entries(object)) {
    // This keeps lone surrogates, which UTF-8 would lose. They are reported later.
    if (typeof value === 'string') object[key] = deserialize(serialize(value)) as string;
  }
}
