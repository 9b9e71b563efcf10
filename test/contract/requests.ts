import { describe, expect, it } from '@jest/globals';
import {
  CHUNKED,
  expectRefusal,
  postHead,
  RawConnection,
  requestHead,
  type RequestHeaders,
  TOKEN,
} from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const PLANTS = '{plants}';
const NOBODY = { Authorization: undefined };

/** Ways to write the path of the plants. */
const THE_PATH = [
  ...[PLANTS, `${PLANTS}?%`, `${PLANTS}?a[b]=2&__proto__[x]=1`, `http://other.example:8080${PLANTS}?x=1`],
];

const OTHER_PATHS = [
  ...['/', '//', `/x?${PLANTS}`, 'http://localhost', '*', '/%', '/%ff', `${PLANTS}%`],
  // More than the path, or a way round to it; other letters, and escapes.
  ...[`${PLANTS}/`, `/${PLANTS}`, `${PLANTS}/1`, `/x/..${PLANTS}`, '/PLANTS', '/pl%61nts', `${PLANTS}%20`],
  // What can be read there, and what another port has.
  ...['/docs', '/openapi.json', '/metrics', '/readyz'],
];

/** A request of this method for a path, with a plant. */
function requestTo({ basePath }: ContractTarget, path: string, headers?: RequestHeaders, method = 'POST'): string {
  const line = `${method} ${path.replace(PLANTS, `${basePath}/plants`)} HTTP/1.1`;
  const body = { 'Content-Type': 'application/json', 'Content-Length': String(PLANT.length) };
  return requestHead(line, { ...body, ...headers }) + PLANT;
}

/** What is the path; what is not may be somebody else's. */
export function describeThePath(target: () => ContractTarget): void {
  it.each(THE_PATH)('should create at the path: %s', async (path) => {
    expectCreated(await target().raw(requestTo(target(), path)), { name: 'Rose' });
  });
}

export function describePaths(target: () => ContractTarget): void {
  it.each(OTHER_PATHS)('should have nothing at another path, with or without a credential: %s', async (path) => {
    for (const headers of [{}, NOBODY])
      await expectNothingWritten(target(), await target().raw(requestTo(target(), path, headers)), 40400);
  });

  it('should have nothing at the path without its base', async () => {
    const response = await target().raw(requestTo({ ...target(), basePath: '' }, PLANTS));
    if (target().basePath === '') expectCreated(response, { name: 'Rose' });
    else await expectNothingWritten(target(), response, 40400);
  });
}

export function describeMethods(target: () => ContractTarget): void {
  describe('the method', () => {
    it.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'M-SEARCH'])('should not be %s', async (method) => {
      const response = await target().raw(requestTo(target(), PLANTS, {}, method));
      expect(await expectNothingWritten(target(), response, 40500)).toContain('POST');
      expect(response.headers.allow).toBe('POST');
      await expectNothingWritten(target(), await target().raw(requestTo(target(), PLANTS, NOBODY, method)), 40100);
    });

    it('should not be CONNECT, behind which no request is read, and which does no harm if it breaks', async () => {
      const connect = requestHead('CONNECT other.example:443 HTTP/1.1', { Host: 'other.example:443' });
      const response = await exchange(target(), `${connect}what would be tunnelled`, 40500, CLOSED);
      expect(response?.headers).toMatchObject({ allow: 'POST', connection: 'close' });
      using breaking = await RawConnection.open(target().port);
      breaking.send(connect);
      await expectAnswers(target(), breaking, 40500);
      breaking.socket.resetAndDestroy();
      expectCreated(await target().post(PLANT), { name: 'Rose' });
    });

    it.each(['websocket', 'h2c'])('should not be changed by an upgrade: %s', async (protocol) => {
      const upgrade = { Connection: 'Upgrade', Upgrade: protocol, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
      await exchange(target(), requestTo(target(), PLANTS, upgrade, 'GET'), 40500);
      expectCreated(await target().post(PLANT, upgrade), { name: 'Rose' });
    });
  });
}

/** Each error, and the `Authorization` headers that it stands for. */
const BAD: [error: number, ...sent: (string | string[] | undefined)[]][] = [
  [40100, undefined, `Basic ${TOKEN}`, TOKEN, `Bearer${TOKEN}`],
  [40101, `Bearer ${TOKEN}=`, `Bearer ${TOKEN.slice(0, -1)}`, `Bearer ${TOKEN.toUpperCase()}`, 'Bearer -._~+/=='],
  [40102, '', 'Bearer', 'Bearer   ', `Bearer: ${TOKEN}`, `Bearer "${TOKEN}"`, `Bearer ${TOKEN}, Bearer ${TOKEN}`],
  ...[`Bearer ${TOKEN}`, 'Basic dXNlcjpwYXNzd29yZA=='].map((other): [number, string[], string[]] => {
    return [40102, [`Bearer ${TOKEN}`, other], [other, `Bearer ${TOKEN}`]];
  }),
];

/** Requests that hold a token, but not where one counts. */
const ELSEWHERE: [where: string, query: string, body: string, headers: RequestHeaders][] = [
  ['query', `?access_token=${TOKEN}`, PLANT, {}],
  ['body', '', `{"id": 1, "name": "Rose", "access_token": "${TOKEN}"}`, {}],
  ['query and body', `?access_token=${TOKEN}`, `{"id": 1, "name": "Rose", "access_token": ["${TOKEN}"]}`, {}],
];

export function describeCredentials(target: () => ContractTarget): void {
  describe('the credential', () => {
    it.each([`bEaReR ${TOKEN}`, `  Bearer   ${TOKEN}  `])('should be good: %j', async (authorization) => {
      expectCreated(await target().post(PLANT, { Authorization: authorization }), { name: 'Rose' });
    });

    it.each(BAD.flatMap(([error, ...all]) => all.map((sent) => ({ sent, error }))))(
      'should not be $sent, which is $error',
      async ({ sent, error }) => {
        const response = await target().post(PLANT, { Authorization: sent });
        expect(await expectNothingWritten(target(), response, error)).not.toContain(TOKEN);
        const challenge = `Bearer realm="plants"${error === 40101 ? ', error="invalid_token"' : ''}`;
        expect(response.headers['www-authenticate']).toBe(challenge);
      },
    );

    it.each(ELSEWHERE)('should not be taken from elsewhere: %s', async (_, query, body, headers) => {
      const send = (authorization?: RequestHeaders): ReturnType<ContractTarget['raw']> => {
        const head = postHead(target().basePath, body, { ...headers, ...authorization });
        return target().raw(head.replace('/plants', `/plants${query}`), body);
      };
      await expectNothingWritten(target(), await send(NOBODY), 40100);
      expectCreated(await send(), { name: 'Rose' });
    });
  });
}

const LARGE = ' '.repeat(2 * 1024 * 1024);
const NO_KEY = { 'Idempotency-Key': '' };
const TEXT = { 'Content-Type': 'text/plain', ...NO_KEY };

const NO_CREDENTIAL: [error: number, headers: RequestHeaders][] = [
  [40100, NOBODY],
  [40101, { Authorization: 'Bearer wrong' }],
  [40102, { Authorization: 'Bearer' }],
];

/** Faults in the order in which they are to be found: each request has its own and all that come after. */
const IN_ORDER: [error: number, body: string, headers: RequestHeaders][] = [
  ...NO_CREDENTIAL.map(([error, headers]): [number, string, RequestHeaders] => [error, LARGE, { ...TEXT, ...headers }]),
  [41500, LARGE, TEXT],
  [41500, LARGE, { 'Content-Encoding': 'gzip', ...NO_KEY }],
  [41300, `{"id": "x",${LARGE}`, NO_KEY],
  [40002, '{"id": "x",', NO_KEY],
  [40001, '[]', NO_KEY],
  [40004, '{"id": 1, "name": null}', NO_KEY],
  [40003, '{"id": 1, "name": null}', {}],
];

export function describeOrderOfChecks(target: () => ContractTarget): void {
  it.each(IN_ORDER)('should refuse a request of several faults for the first, %d', async (error, body, headers) => {
    // Every one of them would also be refused for its id.
    expectCreated(await target().post(PLANT), { name: 'Rose' });
    expectRefusal(await target().post(body, headers), error, target().errorStatus);
  });

  it('should refuse a request without a credential before its body is sent', () =>
    exchange(target(), postHead(target().basePath, '', { ...NOBODY, ...CHUNKED }), 40100));
}

/** For servers that read all header fields, however many there are, and answer what Node would refuse by itself. */
export function describeCredentialsOfServer(target: () => ContractTarget): void {
  it('should find the credential in a header of any letters, behind any number of others', async () => {
    const headers = { X: Array<string>(1500).fill(''), aUTHORIZATION: `Bearer ${TOKEN}` };
    // With the usual one before them.
    await expectNothingWritten(target(), await target().post(PLANT, headers), 40102);
    expectCreated(await target().post(PLANT, { ...NOBODY, ...headers }), { name: 'Rose' });
  });

  it.each(NO_CREDENTIAL)('should refuse with %d if the chunks are broken too', async (error, credential) => {
    const head = postHead(target().basePath, '', { ...credential, ...CHUNKED });
    await exchange(target(), `${head}zz\r\n`, error, CLOSED);
  });
}
