import { describe } from '@jest/globals';
import { startHost } from '../support/host/host.js';
import type { Platform } from '../support/host/host.js';
import { runningTarget } from './contract-target.js';
import { BODY_READINGS, type BodyReading, describeGuestContract, OVER_HTTP2 } from './describe-contract.js';

const HOSTS: { platform: Platform; body: BodyReading }[] = [
  { platform: 'express', body: 'exempt' },
  { platform: 'express', body: 'rawBody' },
  { platform: 'fastify', body: 'exempt' },
  { platform: 'fastify', body: 'rawBody' },
];

describe.each(HOSTS)('POST /plants in a host on $platform with bodies $body', ({ platform, body }) => {
  const target = runningTarget(() => startHost({ platform, body }));
  describeGuestContract(target, body, platform);
});

describe('POST /plants in a host on express without a body parser', () => {
  const target = runningTarget(() => startHost({ platform: 'express', body: 'none' }));
  describeGuestContract(target, 'exempt', 'express');
});

describe.each(BODY_READINGS)('POST /plants over HTTP/2 in a host on fastify with bodies %s', (body) => {
  const target = runningTarget(() => startHost({ platform: 'fastify', body, http2: { http2: true } }));
  describeGuestContract(target, body, 'fastify', OVER_HTTP2);
});
