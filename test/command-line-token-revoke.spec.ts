import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { TokenCommands } from './support/token-commands.js';

describe('plant-store token revoke', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  async function revoke(what: string): Promise<string> {
    const run = await commands.run('revoke', what);
    expect([run.stderr, run.code]).toEqual(['', 0]);
    return run.stdout;
  }

  it('should end a token by its name, and say so again when it is asked again', async () => {
    const { id } = await commands.issue('ci');
    expect(await revoke('ci')).toBe(`Revoked the access token ci with the id ${id}\n`);
    const [revoked] = await commands.list('ci');
    expect(revoked).toMatchObject({ id, state: 'revoked', revokedAt: expect.any(String) as unknown });
    const again = await revoke('ci');
    expect(again).toMatch(new RegExp(`^The access token ci with the id ${id} was revoked already, at .*Z\n$`));
    expect(await revoke(String(id))).toBe(again);
    expect(await commands.list('ci')).toEqual([revoked]);
  });

  it('should end the one with an id, and by its name what is left', async () => {
    for (let i = 0; i < 3; i++) await commands.issue('pair');
    const [first, second, third] = (await commands.list('pair')).map(({ id }) => id);
    expect(await revoke(String(second))).toBe(`Revoked the access token pair with the id ${second}\n`);
    expect(await commands.states('pair')).toEqual(['valid', 'revoked', 'valid']);
    expect(await revoke('pair')).toBe(
      `Revoked the access token pair with the id ${first}\nRevoked the access token pair with the id ${third}\n`,
    );
    expect(await commands.states('pair')).toEqual(['revoked', 'revoked', 'revoked']);
  });

  it('should say that one has expired already', async () => {
    await commands.issue('old');
    await database.query(`UPDATE access_tokens SET expires_at = '2024-05-06 07:08:09Z' WHERE name = 'old'`);
    expect(await revoke('old')).toMatch(
      /^The access token old with the id \d+ has expired already, at 2024-05-06T07:08:09Z\n$/,
    );
    expect(await commands.states('old')).toEqual(['expired']);
  });

  it.each(['nobody', '2147483648', '0', '007', '9'.repeat(50), "ci'; DROP TABLE plants; --", 'ci ', 'C I', '%'])(
    'should fail on %j, which there is not, and say so in a line',
    async (what) => {
      const before = await commands.list();
      const told = await commands.fail(1, 'revoke', what);
      expect(told).toBe(
        `plant-store: there is no access token with the ${/^\d+$/.test(what) ? 'id' : 'name'} ${JSON.stringify(what)}. ` +
          'See plant-store token list for those that there are\n',
      );
      expect(await commands.list()).toEqual(before);
    },
  );

  it('should have told no token and no digest but where it was made', () => {
    commands.expectNothingTold();
  });
});
