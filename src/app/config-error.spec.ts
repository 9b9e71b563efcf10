import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, listenError } from './config-error.js';

describe(listenError.name, () => {
  const translate = (cause: unknown) => listenError(cause, '', '127.0.0.1', 80);

  it.each([
    ['EADDRINUSE', 'PORT: 80 on "127.0.0.1" is taken by another program, should be a free port'],
    ['EACCES', 'PORT: 80 on "127.0.0.1" is not allowed to this user, should be 1024 or more'],
    ['EADDRNOTAVAIL', 'HOST: "127.0.0.1" is no address of this machine (EADDRNOTAVAIL), should be one of its own'],
    ['ENOTFOUND', 'HOST: "127.0.0.1" is no address of this machine (ENOTFOUND), should be one of its own'],
  ])('should name the variable to blame for %s', (code, fault) => {
    const cause = Object.assign(new Error('listen failed'), { code });
    const error = translate(cause);

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ faults: [fault], cause });
  });

  it('should leave other errors as they are', () => {
    const cause = new Error('out of memory');

    expect(translate(cause)).toBe(cause);
  });
});
