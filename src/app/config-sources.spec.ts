import { describe, expect, it } from '@jest/globals';
import { readEnvironment } from './config.js';

describe(readEnvironment.name, () => {
  it.each([
    [{}, '127.0.0.1'],
    [{ HOST: ' ' }, '127.0.0.1'],
    [{ HOST: '0.0.0.0' }, '0.0.0.0'],
    [{ DATABASE_URL: 'postgresql://db/plants' }, '0.0.0.0'],
    [{ NODE_ENV: 'production' }, '0.0.0.0'],
  ])('should with %j listen on %s', (variables, address) => {
    expect(readEnvironment(variables).host).toBe(address);
  });

  it('should say what is wrong with each variable, and keep the others', () => {
    const variables = { PORT: 'many', HOST: '::1', ACCESS_TOKENS: 'hunter2', DATABASE_URL_FILE: '/no/such' };
    const { faults, host } = readEnvironment(variables);
    expect(host).toBe('::1');
    expect(faults).toEqual([
      expect.stringMatching(/^PORT: is "many"/),
      expect.stringMatching(/^DATABASE_URL_FILE: cannot/),
      expect.stringMatching(/^ACCESS_TOKENS: /),
    ]);
  });
});
