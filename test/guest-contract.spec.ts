import { describe } from '@jest/globals';
import { describeGuestContract } from './contract/describe-guest-contract.js';
import { runningTarget } from './contract/running-target.js';
import { startHost } from './support/host.js';

// Each platform once; the other hosts are in the slow suite.
describe('POST /plants in a host on fastify with bodies exempt', () => {
  const target = runningTarget(() => startHost({ platform: 'fastify', body: 'exempt' }));
  describeGuestContract(target, 'exempt', 'fastify');
});

describe('POST /plants in a host on express with bodies parsed', () => {
  const target = runningTarget(() => startHost({ platform: 'express', body: 'parsed' }));
  describeGuestContract(target, 'parsed', 'express');
});
