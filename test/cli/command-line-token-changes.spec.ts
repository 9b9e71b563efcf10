import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type ListedToken, TokenCommands } from '../support/tokens/token-commands.js';

const HOUR = 3600;
const DAY = 24 * HOUR;

describe('plant-store token rotate', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  const seconds = (from: string | null | undefined, to: string | null | undefined): number =>
    (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000;

  it('should make another token of the same name, scopes and life, and end the old one after the overlap', async () => {
    const old = await commands.make('create', 'deploy', '--expires', '30d', '--scope', 'plants:create,b:read');
    const made = await commands.make('rotate', 'deploy', '--overlap', '2h');
    expect(made.token).not.toBe(old.token);
    const [before, after] = await commands.list('deploy');
    expect([before?.state, after?.state]).toEqual(['valid', 'valid']);
    expect(after?.scopes).toEqual(['plants:create', 'b:read']);
    expect(seconds(after?.createdAt, after?.expiresAt)).toBeCloseTo(30 * DAY, 1);
    expect(seconds(after?.createdAt, before?.expiresAt)).toBeCloseTo(2 * HOUR, -1);
    expect(made.told).toContain(
      `The one with the id ${before?.id} stays valid until ${before?.expiresAt?.slice(0, 19)}Z.`,
    );
    expect(made.told).toContain(`Access token deploy, with the id ${after?.id}`);
  });

  it('should give it the life of the newest one if several are valid, and all the same end', async () => {
    await commands.make('rotate', 'deploy', '--overlap', '1d');
    const [first, second, third] = await commands.list('deploy');
    expect(seconds(third?.createdAt, third?.expiresAt)).toBeCloseTo(30 * DAY, 1);
    // Never later than it would have ended.
    expect(seconds(second?.createdAt, first?.expiresAt)).toBeCloseTo(2 * HOUR, -1);
    expect(seconds(third?.createdAt, second?.expiresAt)).toBeCloseTo(DAY, -1);
  });

  it('should leave an hour unless an option says otherwise, and never stay never', async () => {
    await commands.issue('eternal');
    await commands.make('rotate', 'eternal');
    const [before, after] = await commands.list('eternal');
    expect(seconds(after?.createdAt, before?.expiresAt)).toBeCloseTo(HOUR, -1);
    expect(after?.expiresAt).toBeNull();
  });

  it.each(['0', '0h'])('should end the old one at once with an overlap of %s', async (overlap) => {
    const name = `at-once-${overlap}`;
    const { id } = await commands.issue(name);
    const { told } = await commands.make('rotate', name, '--overlap', overlap);
    expect(await commands.states(name)).toEqual(['revoked', 'valid']);
    expect(told).toContain(`The one with the id ${id} is revoked.`);
  });

  it('should take another end for the new one', async () => {
    await commands.issue('ends', { expires: '90 days' });
    const newest = async (expires: string): Promise<ListedToken | undefined> => {
      await commands.make('rotate', 'ends', '--expires', expires);
      return (await commands.list('ends')).at(-1);
    };
    const second = await newest('12h');
    expect(seconds(second?.createdAt, second?.expiresAt)).toBeCloseTo(12 * HOUR, 1);
    expect(await newest('never')).toMatchObject({ expiresAt: null });
    expect(await newest('2099-12-31')).toMatchObject({ expiresAt: '2099-12-31T23:59:59.999Z' });
  });

  it('should change nothing if the new one would have ended already', async () => {
    const before = await commands.list('ends');
    expect(await commands.fail(1, 'rotate', 'ends', '--expires', '2020-01-01')).toMatch('must be in the future');
    expect(await commands.list('ends')).toEqual(before);
  });

  it('should fail if no token of that name is valid, or ever was', async () => {
    await commands.issue('gone');
    await database.query(`UPDATE access_tokens SET revoked_at = now() WHERE name = 'gone'`);
    expect(await commands.fail(1, 'rotate', 'gone')).toBe(
      'plant-store: no access token with the name gone is valid any more. Create one: plant-store token create gone\n',
    );
    expect(await commands.fail(1, 'rotate', 'nobody')).toMatch('there is no access token with the name "nobody"');
    expect(await commands.states('gone')).toEqual(['revoked']);
  });

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });
});

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

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });
});
