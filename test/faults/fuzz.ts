import { connect } from 'node:net';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { postHead } from '../support/http/request.js';
import type { Cluster } from './cluster.js';
import type { TestResult } from './report.js';

/** At a time. */
const CONNECTIONS = 16;
const REQUEST_TIMEOUT_MS = 1000;
/** Ten times what the service gives a request: no connection may be without an answer and open for so long. */
const PATIENCE_MS = 10 * REQUEST_TIMEOUT_MS;
/** One in so many clients goes on waiting after its bytes; the others end the connection, so that nothing is to follow. */
const PATIENT_CLIENTS = 50;
const MAX_MEMORY_BYTES = 600 * 2 ** 20;
const MAX_SHOWN_FAILURES = 5;
/** On every answer. */
const HEADERS = ['content-type: application/json', 'x-content-type-options: nosniff', 'cache-control: no-store'];
/** On the answers with these numbers, in addition. */
const HEADERS_OF: readonly [RegExp, string][] = [
  [/^401|^40300$/, 'www-authenticate: Bearer realm="plants"'],
  [/^40500$/, 'allow: POST'],
  [/^5030/, 'retry-after: '],
  [/^5/, 'x-request-id: '],
];

/** Sends bytes that were valid requests before some of them were changed, each on a connection of its own. */
export async function fuzz(cluster: Cluster, requests: number, seed: number): Promise<TestResult> {
  await cluster.restartService({ REQUEST_TIMEOUT: String(REQUEST_TIMEOUT_MS) });
  const failures: string[] = [];
  const answers = new Map<string, number>();
  let next = 0;
  const runClient = async (): Promise<void> => {
    while (next < requests && failures.length < MAX_SHOWN_FAILURES) {
      const number = next++;
      const bytes = mutatedRequest(new Random(seed * 1e6 + number), number);
      const received = await exchange(cluster.port, bytes, number % PATIENT_CLIENTS === 0);
      const [fault, kinds] = received === undefined ? ['no connection, or no answer in time', []] : read(received);
      for (const kind of kinds) answers.set(kind, (answers.get(kind) ?? 0) + 1);
      if (fault !== undefined) {
        failures.push(`--seed ${seed}, request ${number}: ${fault}; sent ${JSON.stringify(bytes)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, runClient));
  if (!cluster.service.isRunning) failures.push(`--seed ${seed}: the service ended:\n${cluster.service.stderr}`);
  else await cluster.serving();
  const memory = (await cluster.peakMemory()) ?? 0;
  if (memory > MAX_MEMORY_BYTES) failures.push(`the service took ${megabytes(memory)}`);
  const counts = [...answers].sort().map(([kind, count]) => `${kind} × ${count.toLocaleString('en')}`);
  const summary = `${next.toLocaleString('en')} with seed ${seed}; ${counts.join(', ')}; peak memory ${megabytes(memory)}`;
  return { name: 'fuzzed requests', summary, failures };
}

/** All that comes back until the connection closes or an answer is there; undefined if neither happens in time, or there is no connection. */
function exchange(port: number, bytes: string, isPatient: boolean): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1' });
    const finish = (received: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(received);
    };
    const timer = setTimeout(() => {
      finish(isPatient && chunks.length > 0 ? Buffer.concat(chunks) : undefined);
    }, PATIENCE_MS);
    let isConnected = false;
    socket.on('connect', () => {
      isConnected = true;
      if (isPatient) socket.write(bytes, 'latin1');
      else socket.end(bytes, 'latin1');
    });
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      // Whole answers; another one may never follow, as this client does not end the connection.
      const received = Buffer.concat(chunks);
      const [fault, kinds] = read(received);
      if (isPatient && fault === undefined && kinds.length > 0) finish(received);
    });
    // A server that has answered may reset a connection on which bytes still arrive.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      finish(isConnected ? Buffer.concat(chunks) : undefined);
    });
  });
}

/** What is wrong with these answers, if anything is, and their kinds. */
function read(received: Buffer): [fault: string | undefined, kinds: string[]] {
  const kinds: string[] = [];
  let rest = received;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.subarray(0, end).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.subarray(end + 4, end + 4 + length);
    if (end < 0 || ![100, 200, 400].includes(status) || body.length < length) {
      return [`not an answer: ${JSON.stringify(rest.toString('latin1'))}`, kinds];
    }
    rest = rest.subarray(end + 4 + length);
    if (status === 100) continue;
    const text = body.toString('utf8');
    const kind = status === 200 ? plantKind(text) : errorKind(text);
    if (kind === undefined || kind === '50000') return [`an answer out of form: ${JSON.stringify(head + text)}`, kinds];
    const headers = [...HEADERS, ...HEADERS_OF.filter(([error]) => error.test(kind)).map(([, header]) => header)];
    const missing = headers.filter((header) => !head.toLowerCase().includes(`\r\n${header.toLowerCase()}`));
    if (missing.length > 0)
      return [`an answer without ${missing.join(' and ')}: ${JSON.stringify(head + text)}`, kinds];
    kinds.push(kind);
  }
  return [undefined, received.length > 0 ? kinds : ['closed']];
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MB`;
}

function plantKind(text: string): string | undefined {
  const { name, tag, ...others } = parse(text);
  const isPlant = typeof name === 'string' && (tag === undefined || typeof tag === 'string');
  return isPlant && Object.keys(others).length === 0 ? '200' : undefined;
}

function errorKind(text: string): string | undefined {
  const { error, message, ...others } = parse(text);
  const isError = String(error) in ERROR_CATALOGUE && typeof message === 'string' && message !== '';
  return isError && typeof error === 'number' && Object.keys(others).length === 0 ? String(error) : undefined;
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The same numbers for the same seed (mulberry32). */
class Random {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

/** Of one byte for each character. */
function mutatedRequest(random: Random, number: number): string {
  let bytes = validRequest(random, number);
  for (let count = 1 + random.below(3); count > 0; count--) {
    // As often in the body as in the head, which is longer; mostly a few bytes, sometimes all that follow.
    const start = random.of([0, bytes.indexOf('\r\n\r\n') + 4]);
    const from = start + random.below(bytes.length - start);
    const to = from + 1 + random.below(random.of([1, 4, 40, bytes.length]));
    const [before, between, after] = [bytes.slice(0, from), bytes.slice(from, to), bytes.slice(to)];
    const flipped = String.fromCharCode((between.charCodeAt(0) ^ (1 << random.below(8))) & 0xff);
    bytes = random.of([
      before + flipped + between.slice(1) + after,
      before + after,
      random.of([before, before + between + after]),
      before + between + between + after,
      before + validRequest(random, number).slice(from),
      before + random.of(TOKENS) + between + after,
      before + (between + after).replace(/\d+/, random.of(NUMBERS)),
      bytes.replace('\r\n', `\r\n${random.of(FIELDS)}\r\n`),
    ]);
  }
  return bytes;
}

function validRequest(random: Random, number: number): string {
  const id = random.of([number, -number, `${number}.0`, `${number}e0`]);
  const text = `{"id":${id},"name":"Rose \u00e9\u{1f339}","tag":"flower","more":[{"__proto__":null},1e5]}`;
  const body = Buffer.from(text).toString('latin1');
  const plain = postHead('', text) + body;
  const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
  return random.of([
    plain,
    plain + plain,
    postHead('', text, { 'Idempotency-Key': 'key', Expect: '100-continue' }) + body,
    `${postHead('', text, chunked)}${body.length.toString(16)};extension=1\r\n${body}\r\n0\r\nTrailer: 1\r\n\r\n`,
  ]);
}

const TOKENS = [
  ...'\r\n\0 \t:;,"{}[]\\/?#\x7f\xff'.split(''),
  ...['\r\n', '\r\n\r\n', '0\r\n\r\n', '\r\n ', '\xef\xbb\xbf', '\\u0000', '\\ud800', '"id":1,', '"__proto__":{},'],
  ...['[['.repeat(5000), 'x'.repeat(20_000), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ...'HTTP/1.0 HTTP/2.0 CONNECT OPTIONS null true /plants %2e'.split(' '),
];
const NUMBERS = [
  ...'0 -1 00 +5 0x10 ffffffffffffffff 9223372036854775808 99999999999999999999 1e400 1e999999999 -0 5.5'.split(' '),
  ...'4294967296 2147483648 16777217 1,1'.split(' '),
];
const FIELDS = `Content-Length: 5|Content-Length: 5, 5|Content-Length: -1|Transfer-Encoding: chunked
Transfer-Encoding: gzip, chunked|Transfer-Encoding: identity|Expect: 100-continue|Expect: 200-ok|Connection: close
Connection: Upgrade\r\nUpgrade: websocket|Content-Encoding: br|Content-Encoding: gzip, gzip|Content-Type: text/plain
Content-Type: application/json;charset=x|Idempotency-Key: a|Idempotency-Key:|Host: other|Host:|Authorization: Bearer
Authorization: Basic eDp5|: empty| folded|X-Http-Method-Override: DELETE|Origin: null|Trailer: Content-Length`.split(
  /\||(?<!\r)\n/,
);
