import { describe, expect, it } from '@jest/globals';
import { METHODS } from 'node:http';
import { RawConnection } from '../support/http/raw-connection.js';
import { expectRefusal } from '../support/http/refusal.js';
import { postHead, requestHead } from '../support/http/request.js';
import {
  CLOSED,
  type ContractTarget,
  exchange,
  expectAnswers,
  expectCreated,
  expectNothingWritten,
  storedPlants,
} from './contract-target.js';

const PLANT = '{"id": 1, "name": "Rose"}';
const PLANTS = '{plants}';

/** Ways to write the path of the plants. */
const THE_PATH = [
  PLANTS,
  `${PLANTS}?`,
  `${PLANTS}?x=1`,
  `${PLANTS}?/other`,
  `${PLANTS}?%`,
  `${PLANTS}?a#b`,
  `${PLANTS}?%ff`,
  `${PLANTS}?a[b][c]=1&a[b]=2&__proto__[x]=1`,
  `http://localhost${PLANTS}`,
  `http://other.example:8080${PLANTS}?x=1`,
  `HTTPS://localhost${PLANTS}`,
];

const OTHER_PATHS = [
  ...['/', '//', '/?', '*', '/plant', '/plantss', '/unknown', '/__proto__', '/constructor', `/x?${PLANTS}`],
  ...['http://localhost', 'http://localhost/', 'http://localhost/%'],
  // More than the path, or a way round to it.
  ...[`${PLANTS}/`, `${PLANTS}//`, `${PLANTS}/?x=1`, `/${PLANTS}`, `${PLANTS}/1`, `${PLANTS}.json`, `${PLANTS};v=1`],
  ...[`/.${PLANTS}`, `/x/..${PLANTS}`, `${PLANTS}/../plants`, `/..${PLANTS}`, `${PLANTS}\\`],
  ...[`${PLANTS}#x`, `${PLANTS}#x?y`],
  // Other letters, and escapes.
  ...['/PLANTS', '/Plants', '/pl%61nts', '/%70lants', `${PLANTS}%20`, `${PLANTS}%00`, `${PLANTS}%2f`],
  ...[`${PLANTS}%3Fx=1`, '/%', '/%2', '/%ff', '/%zz?x=1', '/%c0%af', '/%00'],
  // What others have there, or another port.
  ...['/docs/', '/docs/x', '/openapi.json/', '/openapi.yaml', '/docs-json', '/metrics', '/livez', '/readyz'],
];

type Request = (path: string, authorization?: { Authorization: undefined }) => ReturnType<ContractTarget['raw']>;

function requestTo(target: () => ContractTarget): Request {
  return (path, authorization) => {
    const written = path.replace(PLANTS, `${target().basePath}/plants`);
    const head = requestHead(`POST ${written} HTTP/1.1`, {
      'Content-Type': 'application/json',
      'Content-Length': String(PLANT.length),
      ...authorization,
    });
    return target().raw(head, PLANT);
  };
}

/**
 * What is the path; what is not may be somebody else's.
 *
 * @param isRouted whether the router of the host knows this spelling
 */
export function describeThePath(target: () => ContractTarget, isRouted: (path: string) => boolean = () => true): void {
  const request = requestTo(target);
  describe('the path', () => {
    it.each(THE_PATH.filter(isRouted))('may be written %s', async (path) => {
      expectCreated(await request(path), { name: 'Rose' });
    });

    it('may be followed by a long query', async () => {
      expectCreated(await request(`${PLANTS}?${'x'.repeat(8000)}`), { name: 'Rose' });
    });
  });
}

export function describePaths(target: () => ContractTarget): void {
  const request = requestTo(target);
  describeThePath(target);

  describe('the path', () => {
    it.each(OTHER_PATHS)('should not be %s', async (path) => {
      const message = await expectNothingWritten(target(), await request(path), 40400);
      expect(message).toMatch(/POST .*\/plants\b/);
    });

    it.each([...THE_PATH, ...OTHER_PATHS])('should ask for a credential first: %s', async (path) => {
      await expectNothingWritten(target(), await request(path, { Authorization: undefined }), 40100);
    });

    it('should not be without its base', async () => {
      const { basePath } = target();
      if (basePath !== '') await expectNothingWritten(target(), await request('/plants'), 40400);
      await expectNothingWritten(target(), await request(`/x${basePath}/plants`), 40400);
    });
  });

  describe('the documentation', () => {
    it.each([
      ['/docs', 'text/html'],
      ['/openapi.json', 'application/json'],
    ])('should need no credential, and be at the root: %s', async (path, type) => {
      const response = await target().raw(requestHead(`GET ${path} HTTP/1.1`, { Authorization: undefined }));
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toMatch(new RegExp(`^${type}(?:;|$)`));
    });

    it.each(['/docs', '/openapi.json'])('should not be written to: %s', async (path) => {
      expectRefusal(await request(path), 40400, target().errorStatus);
      expectRefusal(await request(path, { Authorization: undefined }), 40100, target().errorStatus);
    });
  });
}

const BODY = { 'Content-Type': 'application/json', 'Content-Length': String(PLANT.length) };

/** HEAD has no body, and CONNECT no path. */
const OTHER_METHODS = METHODS.filter((method) => !['POST', 'HEAD', 'CONNECT'].includes(method));

const requestLine = ({ basePath }: ContractTarget, method: string): string => `${method} ${basePath}/plants HTTP/1.1`;

export function describeMethods(target: () => ContractTarget): void {
  describe('the method', () => {
    it.each(OTHER_METHODS)('should not be %s', async (method) => {
      const response = await target().raw(requestHead(requestLine(target(), method), BODY), PLANT);
      expect(await expectNothingWritten(target(), response, 40500)).toContain('POST');
      expect(response.headers.allow).toBe('POST');
      const anonymous = requestHead(requestLine(target(), method), { ...BODY, Authorization: undefined });
      await expectNothingWritten(target(), await target().raw(anonymous, PLANT), 40100);
    });

    it.each([
      ['with a credential', {}, 40500],
      ['without one', { Authorization: undefined }, 40100],
    ])('should not be HEAD, whose answer has no body, %s', async (_, headers, error) => {
      using connection = await RawConnection.open(target().port);
      connection.send(requestHead(requestLine(target(), 'HEAD'), headers));
      const response = await connection.response({ head: true });
      expect(response?.status).toBe(target().errorStatus === 'contract' ? 400 : Math.trunc(error / 100));
      expect(response?.headers).toMatchObject({ 'content-type': 'application/json' });
      connection.send(postHead(target().basePath, PLANT), PLANT);
      await expectAnswers(target(), connection, 'Rose');
    });

    it('should not be OPTIONS, a preflight included, if no other origin is let in', async () => {
      const preflight = { Origin: 'https://other.example', 'Access-Control-Request-Method': 'POST' };
      const head = requestHead(requestLine(target(), 'OPTIONS'), { ...preflight, Authorization: undefined });
      const response = await exchange(target(), head, 40100);
      expect(Object.keys(response?.headers ?? {}).filter((name) => name.startsWith('access-control'))).toEqual([]);
    });

    const unknown = ['post', 'Post', 'POSTX', 'CREATE', 'P', 'P\u00d6ST'];
    it.each(unknown)('should not be unknown to HTTP: %s', async (method) => {
      await exchange(target(), requestHead(requestLine(target(), method), BODY) + PLANT, 40010, CLOSED);
      expect(await storedPlants(target())).toEqual([]);
    });
  });

  describe('CONNECT', () => {
    const connect = requestHead('CONNECT other.example:443 HTTP/1.1', { Host: 'other.example:443' });

    it('should be refused, and the connection closed', async () => {
      const response = await exchange(target(), [connect, 'what would be tunnelled'], 40500, CLOSED);
      expect(response?.headers).toMatchObject({ allow: 'POST', connection: 'close' });
    });

    it('should be refused behind the answers to the requests before it', async () => {
      const bytes = postHead(target().basePath, PLANT) + PLANT + connect;
      await exchange(target(), bytes, 'Rose', 40500, CLOSED);
    });

    it('should do no harm if the client breaks the connection', async () => {
      using connection = await RawConnection.open(target().port);
      connection.send(connect);
      connection.socket.resetAndDestroy();
      expectCreated(await target().post(PLANT), { name: 'Rose' });
    });
  });

  describe('an upgrade', () => {
    it.each(['websocket', 'h2c', 'TLS/1.0', 'x'])('should be ignored: %s', async (protocol) => {
      const upgrade = { Connection: 'Upgrade', Upgrade: protocol, 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
      await exchange(target(), requestHead(requestLine(target(), 'GET'), upgrade), 40500);
      expectCreated(await target().post(PLANT, upgrade), { name: 'Rose' });
    });
  });
}
