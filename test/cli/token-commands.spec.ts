import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { expectFailure, outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { TokenCommands } from '../support/tokens/token-commands.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
const TIME = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`;

describe('plant-store token', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    // As a server of somebody else's may be.
    const settings = `ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" SET`;
    await database.query(`${settings} timezone TO 'America/New_York'`);
    await database.query(`${settings} datestyle TO 'German'`);
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  const life = async (name: string): Promise<(number | null)[]> =>
    (await commands.list(name)).map(({ createdAt, expiresAt }) =>
      expiresAt === null ? null : Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 1000),
    );
  async function told(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await commands.run(...args);
    expect([stderr, code]).toEqual(['', 0]);
    return stdout;
  }

  it('should list nothing, and say how to create a token', async () => {
    const { code, stdout, stderr } = await commands.run('list');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE\n$/),
    ]);
    expect(stderr).toContain('plant-store token create NAME');
  });

  it.each<[string, number | null, string[]]>([
    ['usual', 90 * DAY, []],
    ['short', 30 * 60, ['--expires', '30m']],
    ['long', 365 * DAY, ['--expires', '1y']],
    ['eternal', null, ['--expires', 'never']],
  ])('should create a token that is %s, and print it alone, this once', async (name, seconds, options) => {
    const made = await commands.make('create', name, ...options);
    const { id } = await commands.only(name);
    expect(made.told).toMatch(
      new RegExp(
        `^Access token ${name}, with the id ${id}, for plants:create\\. It (expires at ${TIME}|never expires)\\.\n`,
      ),
    );
    expect(await life(name)).toEqual([seconds]);
  });

  it('should take the scopes of a host, and say if plants cannot be created with them', async () => {
    const several = await commands.make('create', 'several', '--scope', 'plants:create,b:read', '--scope', 'c:read');
    const other = await commands.make('create', 'other', '--scope', 'orders:read');
    expect([several.told, other.told].map((text) => text.includes('cannot create plants'))).toEqual([false, true]);
    expect(await commands.only('several')).toMatchObject({ scopes: ['plants:create', 'b:read', 'c:read'] });
  });

  it('should refuse the name of a valid token, and take that of one that has ended', async () => {
    const { id } = await commands.only('usual');
    expect(await commands.fail(1, 'create', 'usual')).toContain(
      `a valid access token has the name usual already, with the id ${id}. Rotate it (plant-store token rotate usual)`,
    );
    await commands.issue('ended', { expires: '-1 second' });
    await commands.make('create', 'ended');
    expect(await commands.states('ended')).toEqual(['expired', 'valid']);
  });

  it('should rotate a token: the same scopes and life, and the old one ends after the overlap', async () => {
    const { id } = await commands.only('several');
    const { told: remarks } = await commands.make('rotate', 'several', '--overlap', '2h');
    expect(remarks).toMatch(new RegExp(`^The one with the id ${id} stays valid until ${TIME}\\.$`, 'm'));
    const [old = 0, made] = await life('several');
    expect([Math.abs((old ?? 0) - 2 * HOUR) < 60, made]).toEqual([true, 90 * DAY]);
    expect((await commands.list('several')).at(-1)).toMatchObject({ scopes: ['plants:create', 'b:read', 'c:read'] });
    await commands.make('rotate', 'eternal', '--overlap', '0');
    expect([await commands.states('eternal'), (await life('eternal'))[1]]).toEqual([['revoked', 'valid'], null]);
  });

  it('should revoke all tokens of a name, or one by its id, and say so again', async () => {
    const [first, second] = (await commands.list('several')).map(({ id }) => id);
    expect(await told('revoke', String(second))).toBe(`Revoked the access token several with the id ${second}\n`);
    expect(await told('revoke', 'several')).toBe(`Revoked the access token several with the id ${first}\n`);
    expect(await told('revoke', String(first))).toMatch(
      /^The access token several with the id \d+ was revoked already\n$/,
    );
    expect(await commands.fail(1, 'rotate', 'several')).toContain(
      'is valid any more. Create one: plant-store token create',
    );
  });

  it.each(['nobody', '2147483648', '007', "ci'; DROP TABLE plants; --", '%'])(
    'should fail on %j, which is missing',
    async (what) => {
      expect(await commands.fail(1, 'revoke', what)).toBe(
        `plant-store: there is no access token with the ${/^\d+$/.test(what) ? 'id' : 'name'} ${JSON.stringify(what)}. ` +
          'See plant-store token list for those that there are\n',
      );
    },
  );

  it('should pass what was written by hand on to no terminal, and take rows without scopes', async () => {
    const { id } = await commands.issue('hand');
    await database.query('UPDATE access_tokens SET scopes = NULL, name = $2, last_used_at = $3 WHERE id = $1', [
      id,
      'a\u001b[31m\nb\u009b2J',
      '2030-01-02 03:04:00Z',
    ]);
    const row = (await told('list')).split('\n').find((line) => line.startsWith(`${id} `));
    expect(row).toMatch(/ a\\u001b\[31m\\u000ab\\u009b2J +- +.* never +2030-01-02T03:04:00Z +valid$/);
    const { told: remarks } = await commands.make('rotate', 'a\u001b[31m\nb\u009b2J');
    expect(remarks + (await told('revoke', String(id)))).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });

  it('should say how to migrate', async () => {
    const bare = await createTestDatabase({ migrated: false });
    await expectFailure('token list', { DATABASE_URL: bare.url }, 'is not migrated', 'Run `plant-store migrate`');
    await bare.drop();
  });

  it('should say of a change that was not confirmed that it may have been done', async () => {
    const proxy = await TcpProxy.start(database.url);
    proxy.loseAnswerTo('COMMIT\0');
    const { code, stderr } = await outcomeOfCommandLine('token create lost', { DATABASE_URL: proxy.url });
    await proxy.close();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^plant-store: outcome unknown, see plant-store token list/),
    ]);
    expect(await commands.states('lost')).toEqual(['valid']);
  });
});
