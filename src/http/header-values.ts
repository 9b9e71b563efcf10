import type { IncomingMessage } from 'node:http';

/**
 * Every value that the client sent for a header, in order. `request.headers` keeps the first of some repeated headers
 * and joins others, and so hides that they were repeated.
 */
export function headerValues(request: IncomingMessage, lowerCaseName: string): string[] {
  const { rawHeaders } = request;
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName)
      values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}
