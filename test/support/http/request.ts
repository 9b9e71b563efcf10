/** A token that every application under test accepts. */
export const TOKEN = 'a-token-for-the-tests-0123456789';

/** Header fields; a list repeats the field, and undefined leaves out one that is usually sent. */
export type RequestHeaders = Record<string, string | string[] | undefined>;

/** The head of a request with a credential, up to the empty line. A header given here replaces the usual one. */
export function requestHead(requestLine: string, headers: RequestHeaders = {}): string {
  const fields: RequestHeaders = { Host: 'localhost', Authorization: `Bearer ${TOKEN}`, ...headers };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    [value ?? []].flat().map((line) => `${name}: ${line}\r\n`),
  );
  return `${requestLine}\r\n${lines.join('')}\r\n`;
}

/** The head of a POST /plants for this body, up to the empty line. */
export function postHead(basePath: string, body: string | Buffer, headers: RequestHeaders = {}): string {
  return requestHead(`POST ${basePath}/plants HTTP/1.1`, {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  });
}
