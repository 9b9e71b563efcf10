import type { IncomingMessage, ServerResponse } from 'node:http';
import { MIMEType } from 'node:util';
import { quote } from '../util/text.js';
import { BodyTooLargeError, UnreadableBodyError, UnsupportedMediaError, TooManyBodiesError } from './http.errors.js';
import { headerValues } from './platform.js';
import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib';
import { deserialize, serialize } from 'node:v8';
import type { JsonObject } from './exact-json.js';

const CODINGS = ['identity', 'gzip', 'br', 'deflate'] as const;
type ContentCoding = (typeof CODINGS)[number];

/** Checks that a request body is declared as UTF-8 JSON, and returns how it is compressed. */
export function checkMediaType(request: IncomingMessage): ContentCoding {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers;
  if (headerValues(request, 'content-type').length > 1) {
    throw new UnsupportedMediaError('The Content-Type header is repeated. It must be sent once, as application/json.');
  }
  if (type !== 'application/json') checkJson(type);
  return encoding === undefined ? 'identity' : contentCoding(encoding);
}

function checkJson(type: string | undefined): void {
  if (type === undefined) {
    throw new UnsupportedMediaError('The Content-Type header is missing. It must be application/json.');
  }
  const parsed = parse(type);
  if (parsed?.essence !== 'application/json') {
    throw new UnsupportedMediaError(`The media type ${quote(type)} is not supported. It must be application/json.`);
  }
  const charset = parsed.params.get('charset') ?? 'utf-8';
  if (!['utf-8', 'utf8'].includes(charset.toLowerCase())) {
    throw new UnsupportedMediaError(`The charset ${quote(charset)} is not supported. It must be utf-8.`);
  }
}

function parse(type: string): MIMEType | undefined {
  try {
    return new MIMEType(type);
  } catch {
    return undefined;
  }
}

function contentCoding(encoding: string): ContentCoding {
  const name = encoding.trim().toLowerCase();
  const coding = CODINGS.find((known) => known === name || (known === 'gzip' && name === 'x-gzip'));
  if (coding) return coding;
  throw new UnsupportedMediaError(
    `The content encoding ${quote(encoding)} is not supported. It must be one of ${CODINGS.join(', ')}.`,
  );
}

/**
 * Bytes that arrive in chunks, in one buffer: a million chunks of one byte, each an object of its own, would take hundreds of
 * times their size. What arrives in one chunk is not copied.
 */
export class ReceivedBytes {
  private buffer: Buffer = Buffer.alloc(0);
  length = 0;

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.length === 0) {
      this.buffer = chunk;
    } else {
      if (length > this.buffer.length) this.grow(Math.max(length, 2 * this.buffer.length));
      chunk.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private grow(capacity: number): void {
    const larger = Buffer.allocUnsafe(capacity);
    this.buffer.copy(larger);
    this.buffer = larger;
  }
}

type Decompressor = (
  data: InputType,
  options: ZlibOptions,
  callback: (error: NodeJS.ErrnoException | null, result: DecompressedInfo) => void,
) => void;

/** What zlib hands over with `info: true`; its type declarations do not know it. */
interface DecompressedInfo {
  buffer: Buffer;
  engine: { bytesWritten: number };
}

const DECOMPRESSORS = { gzip: gunzip, br: brotliDecompress, deflate: inflate } as unknown as Record<
  Exclude<ContentCoding, 'identity'>,
  Decompressor
>;

/** Decompresses a whole body and stops as soon as it is larger than `limit` bytes. */
export function decompress(bytes: Buffer, coding: Exclude<ContentCoding, 'identity'>, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    DECOMPRESSORS[coding](bytes, { maxOutputLength: limit, info: true }, (cause, result) => {
      if (cause?.code === 'ERR_BUFFER_TOO_LARGE') reject(new BodyTooLargeError(limit));
      else if (cause) reject(new UnreadableBodyError(`The body can't be decompressed as ${coding}.`, { cause }));
      else if (result.engine.bytesWritten < bytes.length) {
        reject(new UnreadableBodyError(`The body goes on behind the end of its ${coding} data.`));
      } else resolve(result.buffer);
    });
  });
}

/** What is smaller need not be counted: as many of these as can wait take little. */
export const SMALL_BODY = 16 * 1024;
/** Bytes of bodies that requests under way may hold together. */
const MOST = 256 * 1024 * 1024;

/**
 * The bodies of requests that are not answered yet, which stay in memory as long as the requests wait, with all that a
 * client has put into them.
 */
export class HeldBodies {
  private bytes = 0;

  /**
   * Counts a body until its request is answered.
   *
   * @throws TooManyBodiesError where that is too much, unless it is the only one
   */
  hold(bytes: number, response: ServerResponse): void {
    if (this.bytes > 0 && this.bytes + bytes > MOST) throw new TooManyBodiesError();
    this.bytes += bytes;
    response.once('close', () => {
      this.bytes -= bytes;
    });
  }
}

/** The same object with texts of their own: what V8 has cut out of a text keeps all of that in memory. */
export function detached(object: JsonObject): JsonObject {
  for (const [key, value] of Object.entries(object)) {
    // Unlike an encoding, this keeps lone surrogates, which are told of later.
    if (typeof value === 'string') object[key] = deserialize(serialize(value)) as string;
  }
  return object;
}
