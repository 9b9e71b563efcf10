import { describe, expect, it } from '@jest/globals';
import { makeToken } from '../src/auth/tokens/token.js';
import { PlantStoreProcess } from './support/process.js';

describe('plant-store token', () => {
  it('should print what it is asked to explain to standard output', async () => {
    const helps = await Promise.all(['token --help', 'token list -h'].map((line) => PlantStoreProcess.run(line)));
    for (const help of helps) {
      expect([help.stderr, await help.ended]).toEqual(['', 0]);
      expect(help.stdout).toContain('plant-store token list');
    }
  });

  it('should print why it was called wrongly, and how it is called, to standard error, and exit with 2', async () => {
    const lines = ['token', 'token create', 'token create --name ci --expires soon', 'token revoke a b'];
    const refusals = await Promise.all(lines.map((line) => PlantStoreProcess.run(line)));
    for (const refused of refusals) {
      expect([refused.stdout, await refused.ended]).toEqual(['', 2]);
      expect(refused.stderr).toMatch(/^plant-store: .*\n\nplant-store token/);
    }
  });

  it('should not print a token that stands where none belongs', async () => {
    const token = makeToken();
    const calls = [[token], ['token', token], ['token', 'revoke', token], ['token', 'create', '--name', token]];
    const refusals = await Promise.all(calls.map((args) => PlantStoreProcess.run(args)));
    for (const refused of refusals) {
      expect([refused.stdout, await refused.ended]).toEqual(['', 2]);
      expect(refused.stderr).not.toContain(token.slice(6, 20));
    }
  });
});
