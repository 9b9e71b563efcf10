import { describe } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { contractStore } from './contract-target.js';
import { describeContract, describeStandalone } from './describe-contract.js';

describeStandalone('semantic');

// Without it they go past Express.
describe('POST /plants if Express routes the requests, as a middleware is to see them', () => {
  const seeAll = (app: INestApplication): unknown =>
    app.use((_request: unknown, _response: unknown, next: () => void) => {
      next();
    });
  describeContract(contractStore({}, seeAll));
});
