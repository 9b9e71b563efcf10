import { describe } from '@jest/globals';
import { startHost } from '../support/host/host.js';
import type { Platform } from '../support/host/host.js';
import { type BodyReading, describeGuestContract } from './describe-guest-contract.js';
import { runningTarget } from './running-target.js';

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
