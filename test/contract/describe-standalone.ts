import { describe } from '@jest/globals';
import { TOKEN } from '../support/http/request.js';
import { describeBodySize } from './body-size.js';
import { contractStore } from './contract-store.js';
import type { ContractTarget } from './contract-target.js';
import { describeSeveralTokens } from './credentials.js';
import { describeContract } from './describe-contract.js';
import { describePaths } from './paths.js';
import { describeTimeouts } from './timeouts.js';

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';

/**
 * The contract, as the service on its own keeps it with this ERROR_STATUS.
 *
 * @param start a store with these variables, which runs while the tests of the surrounding `describe` do
 */
export function describeStandalone(
  ERROR_STATUS: 'contract' | 'semantic',
  start: (variables: Record<string, string>) => () => ContractTarget = contractStore,
): void {
  describe(`POST /plants with ERROR_STATUS=${ERROR_STATUS}`, () => {
    describe('and otherwise as it comes', () => {
      const target = start({ ERROR_STATUS });
      describeContract(target);
      describeBodySize(target, 1_048_576);
    });

    describe('and everything else configured', () => {
      const target = start({
        ERROR_STATUS,
        BASE_PATH: '/api/v1',
        BODY_LIMIT: '100',
        ACCESS_TOKENS: `${OTHER_TOKEN}, ${TOKEN}`,
      });
      describePaths(target);
      describeBodySize(target, 100);
      describeSeveralTokens(target, [TOKEN, OTHER_TOKEN]);
    });

    describe('and a short REQUEST_TIMEOUT', () => {
      describeTimeouts(start({ ERROR_STATUS, REQUEST_TIMEOUT: '600' }), 600);
    });
  });
}
