import { describe } from '@jest/globals';
import { describeBodySize } from './contract/body-size.js';
import { contractStore } from './contract/contract-store.js';
import { describeCors } from './contract/cors.js';
import { describeSeveralTokens } from './contract/credentials.js';
import { describeContract } from './contract/describe-contract.js';
import { describePaths } from './contract/paths.js';
import { describeTimeouts } from './contract/timeouts.js';
import { TOKEN } from './support/request.js';

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';
const ORIGIN = 'https://garden.example';

describe.each(['contract', 'semantic'])('POST /plants with ERROR_STATUS=%s', (ERROR_STATUS) => {
  describe('and otherwise as it comes', () => {
    const target = contractStore({ ERROR_STATUS });
    describeContract(target);
    describeBodySize(target, 1_048_576);
  });

  describe('and everything else configured', () => {
    const target = contractStore({
      ERROR_STATUS,
      BASE_PATH: '/api/v1',
      BODY_LIMIT: '100',
      CORS_ORIGINS: `https://first.example,${ORIGIN}`,
      ACCESS_TOKENS: `${OTHER_TOKEN}, ${TOKEN}`,
    });
    describePaths(target);
    describeBodySize(target, 100);
    describeCors(target, ORIGIN);
    describeSeveralTokens(target, [TOKEN, OTHER_TOKEN]);
  });

  describe('and a short REQUEST_TIMEOUT', () => {
    describeTimeouts(contractStore({ ERROR_STATUS, REQUEST_TIMEOUT: '300' }), 300);
  });
});
