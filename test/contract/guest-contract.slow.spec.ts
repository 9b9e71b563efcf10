import { describe, expect, it } from '@jest/globals';
import { startHost } from '../support/host/host.js';
import { tracing } from '../support/host/instrument.js';
import { type Platform, PLATFORMS } from '../support/host/platforms.js';
import { requestHead, type RequestHeaders } from '../support/http/request.js';
import { type BodyReading, describeGuestContract } from './describe-guest-contract.js';
import { runningTarget } from './running-target.js';

const HOSTS: { platform: Platform; body: BodyReading }[] = [
  { platform: 'express', body: 'exempt' },
  { platform: 'express', body: 'rawBody' },
  { platform: 'express', body: 'parsed' },
  { platform: 'fastify', body: 'exempt' },
  { platform: 'fastify', body: 'rawBody' },
  { platform: 'fastify', body: 'parsed' },
];

describe.each(HOSTS)('POST /plants in a host on $platform with bodies $body', ({ platform, body }) => {
  const target = runningTarget(() => startHost({ platform, body }));
  describeGuestContract(target, body, platform);
});

describe('POST /plants in a host on express without a body parser', () => {
  const target = runningTarget(() => startHost({ platform: 'express', body: 'none' }));
  describeGuestContract(target, 'exempt', 'express');
});

describe.each(PLATFORMS)('POST /plants in a host on %s that puts proxies in place of instances', (platform) => {
  const instanceDecorator = tracing('on the proxy', () => undefined);
  const target = runningTarget(() => startHost({ platform, body: 'exempt', instanceDecorator }));
  describeGuestContract(target, 'exempt', platform);
});

// What HTTP/2 cannot say goes to the same server by HTTP/1.1.
describe('POST /plants in a host on fastify over HTTP/2 and HTTP/1.1', () => {
  const target = runningTarget(() => startHost({ platform: 'fastify', body: 'exempt', protocol: 'h2' }));
  describeGuestContract(target, 'exempt', 'fastify');
});

describe('POST /plants in a host on fastify over HTTP/2 without encryption', () => {
  const target = runningTarget(() => startHost({ platform: 'fastify', body: 'exempt', protocol: 'h2c' }));
  const PLANT = '{"id": 1, "name": "Rose"}';
  const LARGE = 'x'.repeat(3 * 1024 * 1024);

  it('should create a plant', async () => {
    expect(await target().post(PLANT)).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
  });

  it.each<[error: number, what: string, body: string, headers: RequestHeaders]>([
    [40100, 'no credential', PLANT, { Authorization: undefined }],
    [40101, 'a wrong token before a large body', LARGE, { Authorization: 'Bearer wrong' }],
    [41500, 'a text', PLANT, { 'Content-Type': 'text/plain' }],
    [41300, 'too large a body, by its length', LARGE, {}],
    [41300, 'too large a body of no known length', LARGE, { 'Content-Length': undefined }],
    [40001, 'no body', '', { 'Content-Length': undefined }],
    [41500, 'a body of no type and no length', PLANT, { 'Content-Type': undefined, 'Content-Length': undefined }],
  ])('should answer %d to %s', async (error, _what, body, headers) => {
    const { status, headers: fields, body: answer } = await target().post(body, headers);
    expect([status, JSON.parse(answer)]).toEqual([400, { error, message: expect.any(String) }]);
    expect(fields).toHaveProperty('x-request-id');
  });

  it.each(['GET', 'DELETE', 'PROPFIND'])('should refuse %s', async (method) => {
    const { status, body } = await target().raw(requestHead(`${method} /api/v1/plants HTTP/1.1`));
    expect([status, JSON.parse(body)]).toEqual([400, { error: 40500, message: expect.any(String) }]);
  });
});
