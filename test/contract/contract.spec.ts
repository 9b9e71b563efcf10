import { beforeEach, describe, it } from '@jest/globals';
import { describeBodySize } from './bodies.js';
import { describeTimeouts } from './connections.js';
import { contractStore, expectCreated, removePlants } from './contract-target.js';
import { describeContract } from './describe-contract.js';
import { describePaths } from './paths.js';
import { TOKEN } from '../support/http/request.js';

describe('POST /plants', () => {
  const target = contractStore();
  describeContract(target);
  describeBodySize(target, 1_048_576);
});

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';

describe('POST /plants with everything configured', () => {
  const target = contractStore({
    ERROR_STATUS: 'semantic',
    BASE_PATH: '/api/v1',
    BODY_LIMIT: '100',
    REQUEST_TIMEOUT: '600',
    ACCESS_TOKENS: `${OTHER_TOKEN}, ${TOKEN}`,
  });
  beforeEach(() => removePlants(target()));

  describePaths(target);
  describeBodySize(target, 100);
  describeTimeouts(target, 600);

  it('should accept each of its tokens', async () => {
    const headers = { Authorization: `Bearer ${OTHER_TOKEN}` };
    expectCreated(await target().post('{"id": 1, "name": "Rose"}', headers), { name: 'Rose' });
  });
});
