import { describe, expect, it } from '@jest/globals';
import { expectRefusal, postHead, RawConnection, requestHead, type RequestHeaders } from '../support/http/request.js';
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
const BODY = { 'Content-Type': 'application/json', 'Content-Length': String(PLANT.length) };
const NOBODY = { Authorization: undefined };

/** Ways to write the path of the plants. */
const THE_PATH = [
  PLANTS,
  ...[`${PLANTS}?`, `${PLANTS}?/other`, `${PLANTS}?%`, `${PLANTS}?a#b`, `${PLANTS}?a[b]=2&__proto__[x]=1`],
  ...[`http://other.example:8080${PLANTS}?x=1`, `HTTPS://localhost${PLANTS}`, `${PLANTS}?${'x'.repeat(8000)}`],
];

const OTHER_PATHS = [
  ...[
    '/',
    '//',
    '/?',
    '*',
    '/plant',
    '/plantss',
    '/__proto__',
    `/x?${PLANTS}`,
    'http://localhost',
    'http://localhost/%',
  ],
  // More than the path, or a way round to it.
  ...[`${PLANTS}/`, `${PLANTS}/?x=1`, `/${PLANTS}`, `${PLANTS}/1`, `${PLANTS};v=1`, `/x${PLANTS}`, `${PLANTS}#x?y`],
  ...[`/x/..${PLANTS}`, `${PLANTS}/../plants`, `${PLANTS}\\`],
  // Other letters, and escapes.
  ...['/PLANTS', '/pl%61nts', `${PLANTS}%20`, `${PLANTS}%2f`, `${PLANTS}%3Fx=1`, '/%', '/%ff', '/%00'],
  // What others have there, or another port.
  ...['/docs/', '/openapi.json/', '/docs-json', '/metrics', '/readyz'],
];

/** A request of this method for a path, with a plant. */
function requestTo({ basePath }: ContractTarget, path: string, headers?: RequestHeaders, method = 'POST'): string {
  const line = `${method} ${path.replace(PLANTS, `${basePath}/plants`)} HTTP/1.1`;
  return requestHead(line, { ...BODY, ...headers }) + PLANT;
}

/**
 * What is the path; what is not may be somebody else's.
 *
 * @param isRouted whether the router of the host knows this spelling
 */
export function describeThePath(target: () => ContractTarget, isRouted: (path: string) => boolean = () => true): void {
  it.each(THE_PATH.filter(isRouted))('should create at the path: %s', async (path) => {
    expectCreated(await target().raw(requestTo(target(), path)), { name: 'Rose' });
  });
}

export function describePaths(target: () => ContractTarget): void {
  describeThePath(target);

  it.each(OTHER_PATHS)(
    'should have nothing at another path, and tell only those with a credential: %s',
    async (path) => {
      const message = await expectNothingWritten(target(), await target().raw(requestTo(target(), path)), 40400);
      expect(message).toMatch(/POST .*\/plants\b/);
      await expectNothingWritten(target(), await target().raw(requestTo(target(), path, NOBODY)), 40100);
    },
  );

  it('should have nothing at the path without its base', async () => {
    const response = await target().raw(requestTo({ ...target(), basePath: '' }, PLANTS));
    if (target().basePath === '') expectCreated(response, { name: 'Rose' });
    else await expectNothingWritten(target(), response, 40400);
  });

  it.each([
    ['/docs', 'text/html'],
    ['/openapi.json', 'application/json'],
  ])('should document itself at the root to everybody, who cannot write there: %s', async (path, type) => {
    const response = await target().raw(requestHead(`GET ${path} HTTP/1.1`, NOBODY));
    expect(response.status).toBe(200);
    expect(response.headers['content-type']).toMatch(new RegExp(`^${type}(?:;|$)`));
    expectRefusal(await target().raw(requestTo(target(), path)), 40400, target().errorStatus);
    expectRefusal(await target().raw(requestTo(target(), path, NOBODY)), 40100, target().errorStatus);
  });
}

export function describeMethods(target: () => ContractTarget): void {
  describe('the method', () => {
    it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'M-SEARCH'])('should not be %s', async (method) => {
      const response = await target().raw(requestTo(target(), PLANTS, {}, method));
      expect(await expectNothingWritten(target(), response, 40500)).toContain('POST');
      expect(response.headers.allow).toBe('POST');
      await expectNothingWritten(target(), await target().raw(requestTo(target(), PLANTS, NOBODY, method)), 40100);
    });

    it.each([
      ['with a credential', {}, 40500],
      ['without one', NOBODY, 40100],
    ])('should not be HEAD, whose answer has no body, %s', async (_, headers, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(requestHead(`HEAD ${target().basePath}/plants HTTP/1.1`, headers));
      const response = await connection.response({ head: true });
      expect(response?.status).toBe(target().errorStatus === 'contract' ? 400 : Math.trunc(error / 100));
      connection.send(postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });

    it('should let no other origin in', async () => {
      const preflight = { Origin: 'https://other.example', 'Access-Control-Request-Method': 'POST', ...NOBODY };
      const response = await exchange(target(), requestTo(target(), PLANTS, preflight, 'OPTIONS'), 40100);
      expect(Object.keys(response?.headers ?? {}).filter((name) => name.startsWith('access-control'))).toEqual([]);
    });

    it.each(['post', 'CREATE', 'P\u00d6ST'])('should not be unknown to HTTP: %s', async (method) => {
      await expectNothingWritten(
        target(),
        await exchange(target(), requestTo(target(), PLANTS, {}, method), 40010, CLOSED),
        40010,
      );
    });

    it('should not be CONNECT, behind which no request is read', async () => {
      const connect = requestHead('CONNECT other.example:443 HTTP/1.1', { Host: 'other.example:443' });
      const bytes = `${postHead(target().basePath, PLANT)}${PLANT}${connect}what would be tunnelled`;
      const response = await exchange(target(), bytes, 'Rose', 40500, CLOSED);
      expect(response?.headers).toMatchObject({ allow: 'POST', connection: 'close' });
      using connection = await RawConnection.open(target().port);
      connection.send(connect);
      connection.socket.resetAndDestroy();
      await exchange(target(), connect, 40500, CLOSED);
    });

    it.each(['websocket', 'h2c'])('should not be changed by an upgrade: %s', async (protocol) => {
      const upgrade = { Connection: 'Upgrade', Upgrade: protocol, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
      await exchange(target(), requestTo(target(), PLANTS, upgrade, 'GET'), 40500);
      expectCreated(await target().post(PLANT, upgrade), { name: 'Rose' });
    });
  });
}
