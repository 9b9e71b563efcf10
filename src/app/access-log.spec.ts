import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { ServerResponse } from 'node:http';
import { PRINCIPAL } from '../http/platform.js';
import { requestContext } from '../http/request-context.js';
import { logWriter } from '../util/log-writer.js';
import { AccessLog } from './access-log.js';
import { ServiceLogger } from './service-logger.js';

const TOKEN = 'a-token-of-the-configuration-0123456789';

/** Of requests and hosts that mean no good. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"',
    '\\',
    '\n',
    '"}\n{"level":"fatal',
    '\u2028',
    '\ud800',
    '%s',
    '__proto__',
    TOKEN,
    `/${TOKEN}?${TOKEN}`,
  ),
);
const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

const answers = fc.record({
  requestId: hostile,
  method: maybe(hostile),
  url: maybe(hostile),
  forwarded: maybe(hostile),
  error: fc.constantFrom(0, 40004, 40101, 50000),
  durationMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
  principal: maybe(hostile),
  plantId: maybe(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
});

describe(AccessLog.name, () => {
  let written: string;

  beforeEach(() => {
    written = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written += String(text);
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('should print one line of JSON for each answer, with each value as it is and no token', () => {
    const options = { logRequests: 'all', accessTokens: [TOKEN] } as const;
    const [log] = AccessLog.observers(new ServiceLogger({ logLevel: 'log' }, false), {
      ...options,
      accessTokens: [TOKEN],
    });
    fc.assert(
      fc.property(answers, ({ method, url, forwarded, ...answer }) => {
        const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
        const { principal, durationMs, ...notes } = answer;
        const socket = { remoteAddress: '192.0.2.7' };
        const request = { method, url, headers, socket, [PRINCIPAL]: { name: principal } };
        const response = { req: request } as unknown as ServerResponse;
        Object.assign(requestContext(response), notes);
        written = '';
        log?.answered(response, durationMs);
        logWriter.flush();

        expect(written).toMatch(/^\{[^\n]+\}\n$/);
        const line = JSON.parse(written) as Record<string, unknown>;
        expect(line).toMatchObject({
          level: 'info',
          context: 'Request',
          message: expect.stringMatching(answer.error === 0 ? /^Answered$/ : /^(Refused|Failed): ./),
          requestId: answer.requestId,
          client: '192.0.2.7',
          error: answer.error,
          durationMs: Math.round(answer.durationMs * 1000) / 1000,
        });
        expect(line.method).toBe(method);
        expect(line.token).toBe(answer.principal);
        expect(line.plantId).toBe(answer.plantId?.toString());
        expect(String(line.path)).not.toContain(TOKEN);
        expect(String(line.forwardedFor)).not.toContain(TOKEN);
        const order =
          'time level context message requestId client forwardedFor method path error durationMs token plantId'.split(
            ' ',
          );
        expect(Object.keys(line)).toEqual(order.filter((name) => name in line));
      }),
    );
  });
});
