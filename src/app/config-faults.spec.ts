import { describe, expect, it } from '@jest/globals';
import { refusal } from '../../test/support/service/configuration-refusal.js';
import { Environment, loadEnvironment } from './config.js';

const TOKEN = 'a-token-of-twenty-characters';

describe(`${Environment.name}, explaining faults`, () => {
  it('should refuse a drain delay that is longer than the whole stop may take', () => {
    expect(() => loadEnvironment({ DRAIN_DELAY: '10001' })).toThrow(
      refusal('DRAIN_DELAY: is 10001, more than SHUTDOWN_TIMEOUT (10000): should be at most that, which includes it'),
    );
    expect(loadEnvironment({ DRAIN_DELAY: '20000', SHUTDOWN_TIMEOUT: '20000' })).toMatchObject({ drainDelay: 20_000 });
  });

  it('should name a wrong token by its position', () => {
    const tokens = [TOKEN, 'short-one', 'caf\u00e9-with-enough-letters', 'x'.repeat(8193)];

    expect(() => loadEnvironment({ ACCESS_TOKENS: tokens.join(' ') })).toThrow(
      refusal(
        'ACCESS_TOKENS: token 2 of 4 is too short, should have at least 20 characters; ' +
          'token 3 of 4 cannot be sent as a bearer token, should be made of letters, digits and -._~+/ alone, with = only at its end; ' +
          'token 4 of 4 is too long, should have at most 8192 characters',
      ),
    );
  });
});
