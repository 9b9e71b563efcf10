import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib';
import { BodyTooLargeError, UnreadableBodyError } from './body.error.js';
import type { ContentCoding } from './body-bytes.js';

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
