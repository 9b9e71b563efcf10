import { describe } from '@jest/globals';
import { contractStore } from './contract-store.js';
import { describeContract } from './describe-contract.js';
import { describeStandalone } from './describe-standalone.js';

describeStandalone('semantic');

// Without it they go past Express.
describe('POST /plants where Express routes the requests, as a middleware is to see them', () => {
  describeContract(contractStore({ CORS_ORIGINS: 'https://garden.example' }));
});
