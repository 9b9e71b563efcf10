import { describe } from '@jest/globals';
import { startHost } from '../support/host/host.js';
import { BODY_READINGS, describeGuestContract, OVER_HTTP2 } from './describe-guest-contract.js';
import { runningTarget } from './running-target.js';

describe.each(BODY_READINGS)('POST /plants over HTTP/2 in a host on fastify with bodies %s', (body) => {
  const target = runningTarget(() => startHost({ platform: 'fastify', body, http2: { http2: true } }));
  describeGuestContract(target, body, 'fastify', OVER_HTTP2);
});
