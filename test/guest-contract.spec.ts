import { describe } from '@jest/globals';
import { BODY_READINGS, describeGuestContract } from './contract/describe-guest-contract.js';
import { runningTarget } from './contract/running-target.js';
import { PLATFORMS, startHost } from './support/host.js';

describe.each(PLATFORMS)('POST /plants in a host on %s', (platform) => {
  describe.each(BODY_READINGS)('with bodies %s', (body) => {
    describeGuestContract(
      runningTarget(() => startHost({ platform, body })),
      body,
    );
  });
});
