import { gzipSync } from 'node:zlib';
import { requestHead, type RequestHeaders } from '../../http/request.js';
import type { Platform } from '../platforms.js';
import { API_KEY } from './api-key.guard.js';
import { HOST_TOKEN } from './host-bearer.strategy.js';
import { signToken } from './signed-token.guard.js';

const V1 = '/api/v1';
const JSON_TYPE = { 'Content-Type': 'application/json' };

type Bytes = (string | Buffer)[];

/** The bytes of one request, after which the server closes the connection. */
function request(line: string, headers: RequestHeaders = {}, body: string | Buffer = ''): [string, Bytes] {
  const head = requestHead(`${line} HTTP/1.1`, {
    Authorization: undefined,
    'X-Api-Key': API_KEY,
    Connection: 'close',
    ...(body.length > 0 && { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  });
  return [`${line} ${JSON.stringify(headers)} ${body.toString('latin1').slice(0, 40)}`, [head, body]];
}

function json(path: string, body: string | Buffer, headers: RequestHeaders = {}): [string, Bytes] {
  return request(`POST ${V1}/${path}`, { ...JSON_TYPE, ...headers }, body);
}

function bearer(token: string): RequestHeaders {
  return { Authorization: `Bearer ${token}` };
}

/** Unknown paths, some much like the store's. */
const UNKNOWN = [
  '/',
  '/plants',
  '/v1/plants',
  '/api/plants',
  '/api/v2/plants',
  `${V1}/plants-of-mine`,
  `${V1}/plants/1`,
  `${V1}/plants.json`,
  `${V1}/plant`,
  `${V1}/orders/1/plants`,
  `${V1}//plants`,
  `${V1}/unknown?x=%ff`,
  '/docs',
  '/openapi.json',
  '/livez',
  '/%zz',
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Fastify does not know some of them, unless they are added. */
const RARE_METHODS = ['TRACE', 'PROPFIND', 'PROPPATCH', 'MKCOL', 'LOCK', 'SEARCH', 'QUERY'];

const PREFLIGHT = {
  Origin: 'https://pages.example',
  'Access-Control-Request-Method': 'PUT',
  'Access-Control-Request-Headers': 'x-api-key',
};

const REQUESTS: [string, Bytes][] = [
  request(`GET ${V1}/orders`),
  request(`GET ${V1}/orders`, { 'X-Api-Key': undefined }),
  request(`GET ${V1}/orders?item=a&item=b`),
  request(`GET ${V1}/orders`, { 'If-None-Match': '*' }),
  request(`GET ${V1}/orders/as-they-are`),
  request(`GET ${V1}/orders/by-sql`),
  request(`GET ${V1}/orders/old`),
  request(`GET ${V1}/orders/7`),
  request(`GET ${V1}/orders/seven`),
  request(`GET ${V1}/orders/7`, { Origin: 'https://pages.example' }),
  json('orders', '{"id": 7, "item": "a rake"}'),
  json('orders', '{"id": 7, "item": "the same id"}'),
  json('orders', '{"id": 8, "item": "a pot", "address": {"city": "Kyoto"}}'),
  json('orders', '{"id": "9", "item": 5, "address": {"street": 1}, "name": "Rose"}'),
  json('orders', '[]'),
  json('orders', '{"id": 10, "item": "hoe", "__proto__": {"a": 1}}'),
  json('bodies', '{"id": 9007199254740993, "id": 5, "s": "\\ud800", "big": 1e400}'),
  json('bodies', '{"id": 1'),
  json('bodies', '"text"'),
  json('bodies', ''),
  json('bodies', '\uFEFF{}'),
  json('bodies', Buffer.from('7b2261223a22ff227d', 'hex')),
  json('bodies', gzipSync('{"zipped": true}'), { 'Content-Encoding': 'gzip' }),
  json('bodies', 'not zipped', { 'Content-Encoding': 'gzip' }),
  json('bodies', '{}', { 'Content-Type': 'application/json; charset=latin1' }),
  json('bodies', '{}', { 'Content-Type': 'application/vnd.host+json' }),
  json('bodies', '{}', { 'Content-Type': 'application/vnd.plant-store.unparsed' }),
  json('bodies', '{}', { 'Content-Type': undefined }),
  json('bodies', 'a[b]=1&a[c]=2&d=%20', { 'Content-Type': 'application/x-www-form-urlencoded' }),
  json('bodies', 'a text', { 'Content-Type': 'text/plain' }),
  json('bodies', 'some bytes', { 'Content-Type': 'application/octet-stream' }),
  json('bodies', '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }),
  json('bodies', JSON.stringify('x'.repeat(200_000))),
  json('bodies', '{"expected": 1}', { Expect: '100-continue' }),
  json('bodies', '{}', { Expect: 'something else' }),
  request(`GET ${V1}/accounts/me`, bearer(HOST_TOKEN)),
  request(`GET ${V1}/accounts/me`, bearer('another')),
  request(`GET ${V1}/accounts/me`),
  request(`GET ${V1}/accounts/me?access_token=${HOST_TOKEN}`),
  request(`GET ${V1}/accounts/signed`, bearer(signToken('me'))),
  request(`GET ${V1}/accounts/signed`, bearer('me.unsigned')),
  request('GET /api/v1/greetings'),
  request('GET /api/v2/greetings'),
  request('GET /api/v3/greetings'),
  request('GET /api/v4/greetings'),
  request('GET /api/greetings/neutral'),
  request('GET /api/v1/greetings/'),
  request('GET /API/v1/Greetings'),
  ...METHODS.map((method) => request(`${method} ${V1}/accounts/me`)),
  ...METHODS.flatMap((method) => UNKNOWN.map((path) => request(`${method} ${path}`))),
  ...UNKNOWN.map((path) => request(`POST ${path}`, JSON_TYPE, '{"id": 1')),
  request(`OPTIONS ${V1}/orders`, PREFLIGHT),
  request(`OPTIONS ${V1}/unknown`, PREFLIGHT),
  request('OPTIONS *'),
  ...RARE_METHODS.flatMap((method) => [
    request(`${method} ${V1}/orders`),
    request(`${method} ${V1}/orders/by-any-method`),
    request(`${method} ${V1}/unknown`, { 'Content-Type': 'application/xml' }, '<propfind/>'),
  ]),
  ['two in a row', [request('GET /api/v2/greetings', { Connection: 'keep-alive' })[1], request('GET /')[1]].flat()],
  ['not HTTP', ['GARBAGE\r\n\r\n']],
  ['no host', [`GET ${V1}/orders HTTP/1.1\r\nConnection: close\r\n\r\n`]],
  ['an old version', [`GET ${V1}/orders HTTP/1.0\r\nX-Api-Key: ${API_KEY}\r\n\r\n`]],
  ['too large a head', [requestHead('GET / HTTP/1.1', { 'X-Large': 'x'.repeat(20_000) })]],
];

/** Too large by what its head says. Express would wait for all of it, and Fastify closes the connection under more of it. */
const TOO_LARGE = json('bodies', '', { 'Content-Length': '5000000' });

/** Requests to a host, each with a name of its own, but not to the store. */
export function hostRequests(platform: Platform): Map<string, Bytes> {
  return new Map(platform === 'fastify' ? [...REQUESTS, TOO_LARGE] : REQUESTS);
}
