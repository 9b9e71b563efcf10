import { describe } from '@jest/globals';
import { BODY_READINGS, describeGuestContract } from '../contract/describe-guest-contract.js';
import { PLATFORMS } from '../support/platforms.js';
import { describeWithHost } from './describe-with-host.js';
import { hostProgram, type ModuleFormat } from './workspace.js';

/** The store in the hosts with a module format: on each platform, with each way of reading bodies. */
export function describeHosts(format: ModuleFormat): void {
  describe.each(PLATFORMS)('POST /plants of the packed store on %s', (platform) => {
    describe.each(BODY_READINGS)('with bodies %s', (body) => {
      const host = {
        program: hostProgram(format),
        basePath: '/api/v1',
        variables: { PLATFORM: platform, BODY: body },
      };
      describeWithHost(host, (target) => {
        describeGuestContract(target, body, platform);
      });
    });
  });
}
