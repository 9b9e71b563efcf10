import { afterAll, beforeAll, describe } from '@jest/globals';
import { BODY_READINGS, describeGuestContract } from './contract/describe-guest-contract.js';
import { type Host, PLATFORMS, startHost } from './support/host.js';

describe.each(PLATFORMS)('POST /plants in a host on %s', (platform) => {
  describe.each(BODY_READINGS)('with bodies %s', (body) => {
    let host: Host;
    beforeAll(async () => {
      host = await startHost({ platform, body });
    });
    afterAll(() => host.stop());

    describeGuestContract(() => host, body);
  });
});
