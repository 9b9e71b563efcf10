import { describe } from '@jest/globals';
import { BODY_READINGS, describeGuestContract } from './contract/describe-guest-contract.js';
import { runningTarget } from './contract/running-target.js';
import { startHost } from './support/host.js';
import { PLATFORMS } from './support/platforms.js';

describe.each(PLATFORMS)('POST /plants in a host on %s', (platform) => {
  describe.each(BODY_READINGS)('with bodies %s', (body) => {
    const target = runningTarget(() => startHost({ platform, body }));
    describeGuestContract(target, body, platform);
  });
});

describe('POST /plants in a host on express without a body parser', () => {
  const target = runningTarget(() => startHost({ platform: 'express', body: 'none' }));
  describeGuestContract(target, 'exempt', 'express');
});
