import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { quote } from '../errors/quote.js';
import { UnsupportedMediaError } from './body.error.js';
import { headerValues } from './header-values.js';

const CODINGS = ['identity', 'gzip', 'br', 'deflate'] as const;
export type ContentCoding = (typeof CODINGS)[number];

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
