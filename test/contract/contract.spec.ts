import { describe, it } from '@jest/globals';
import { TOKEN } from '../support/http/request.js';
import { startStore } from '../support/service/store.js';
import { describeBodySize } from './bodies.js';
import { describeTimeouts } from './connections.js';
import { expectCreated, runningTarget } from './contract-target.js';
import { describeContract } from './describe-contract.js';
import { describePaths, describeThePath } from './requests.js';

describe('POST /plants', () => {
  describeContract(runningTarget(() => startStore()));
});

const OTHER_TOKEN = 'another-token-for-the-tests-0123456789';

describe('POST /plants with everything configured', () => {
  const target = runningTarget(() =>
    startStore({
      ERROR_STATUS: 'semantic',
      BASE_PATH: '/api/v1',
      BODY_LIMIT: '100',
      REQUEST_TIMEOUT: '600',
      ACCESS_TOKENS: `${OTHER_TOKEN}, ${TOKEN}`,
    }),
  );
  describeThePath(target);
  describePaths(target);
  describeBodySize(target, 100);
  describeTimeouts(target, 600);

  it('should accept each of its tokens', async () => {
    const headers = { Authorization: `Bearer ${OTHER_TOKEN}` };
    expectCreated(await target().post('{"id": 1, "name": "Rose"}', headers), { name: 'Rose' });
  });
});
