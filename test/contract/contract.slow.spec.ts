import { describe, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { type Platform, startHost } from '../support/host/host.js';
import { postHead, RawConnection } from '../support/http/request.js';
import { contractStore, expectAnswers, runningTarget } from './contract-target.js';
import { type BodyReading, describeContract, describeGuestContract } from './describe-contract.js';

// Without it they go past Express.
describe('POST /plants if Express routes the requests, as a middleware is to see them', () => {
  const seeAll = (app: INestApplication): unknown =>
    app.use((_request: unknown, _response: unknown, next: () => void) => {
      next();
    });
  const target = contractStore({}, seeAll);
  describeContract(target);

  it('should end a connection on which the rest of a refused body does not come', async () => {
    using connection = await RawConnection.open(target().port);
    connection.send(postHead('', '', { 'Content-Length': '2000000' }));
    await expectAnswers(target(), connection, 41300);
    await connection.closed();
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
