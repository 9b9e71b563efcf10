import { describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { PlatformRequest } from '../../http/platform.js';
import { CredentialLimits } from './credential-limits.js';
import { TooManyWrongTokensError } from './too-many-wrong-tokens.error.js';

const REQUEST = { ip: '192.0.2.1', socket: {} } as unknown as PlatformRequest;
const PRINCIPAL = { name: 'alice', scopes: [] };

describe(CredentialLimits.name, () => {
  function sendWrongTokens(limits: CredentialLimits, times: number): void {
    for (let sent = 0; sent < times; sent++) limits.countWrongToken(REQUEST);
  }

  it('should let an address send 100 wrong tokens unless told otherwise', async () => {
    for (const options of [{}, { wrongTokenLimit: undefined, rateLimit: 1 }]) {
      const limits = await CredentialLimits.create(options);
      sendWrongTokens(limits, 100);
      expect(() => {
        sendWrongTokens(limits, 1);
      }).toThrow(TooManyWrongTokensError);
    }
  });

  it('should let it send any number with 0', async () => {
    const limits = await CredentialLimits.create({ wrongTokenLimit: 0 });
    expect(() => {
      sendWrongTokens(limits, 10_000);
    }).not.toThrow();
  });

  it.each([{}, { rateLimit: 0 }, { rateLimit: undefined }])('should not make a promise with %j', async (options) => {
    // Nothing is asked of the response either.
    const response = undefined as unknown as ServerResponse;
    expect((await CredentialLimits.create(options)).countRequest(PRINCIPAL, response)).toBeUndefined();
  });
});
