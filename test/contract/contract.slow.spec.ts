import { describe, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { type Platform, startHost } from '../support/host/host.js';
import { postHead } from '../support/http/request.js';
import { startStore } from '../support/service/store.js';
import { CLOSED, exchange, runningTarget } from './contract-target.js';
import { type BodyReading, describeContract, describeGuestContract } from './describe-contract.js';

// Without it they go past Express.
describe('POST /plants if Express routes the requests, as a middleware is to see them', () => {
  const seeAll = (app: INestApplication): unknown =>
    app.use((_request: unknown, _response: unknown, next: () => void) => {
      next();
    });
  const target = runningTarget(() => startStore({}, seeAll));
  describeContract(target);

  it('should end a connection on which the rest of a refused body does not come', async () => {
    await exchange(target(), postHead('', '', { 'Content-Length': '2000000' }), 41300, CLOSED);
  });
});

const HOSTS: { platform: Platform; body: BodyReading }[] = [
  { platform: 'express', body: 'store' },
  { platform: 'express', body: 'rawBody' },
  { platform: 'fastify', body: 'rawBody' },
];

describe.each(HOSTS)('POST /plants in a host on $platform with bodies $body', ({ platform, body }) => {
  const target = runningTarget(() => startHost({ platform, body }));
  describeGuestContract(target, body, platform);
});
