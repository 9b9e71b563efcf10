import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { runCommandLine } from '../../src/cli/program.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { expectBadConfiguration, expectFailure, outcomeOfCommandLine, PASSWORD } from '../support/service/process.js';
import { digestForms } from '../support/tokens/tokens.js';

const TOKEN = makeToken();
const NOWHERE = `postgresql://gardener:${PASSWORD}@127.0.0.1:1/plants`;
const production = { NODE_ENV: 'production' };
const MISSPELT = { DATABSE_URL: NOWHERE };

describe(runCommandLine.name, () => {
  it.each([
    ['--help', /^Usage: plant-store .*serve.*migrate.*openapi.*token.*Exit codes: 0 done/s],
    ['serve --help', /^Usage: plant-store serve .*^ {2}DATABASE_POOL_SIZE=10$.*^ {2}DOCS=on$.* ACCESS_TOKENS_FILE$/ms],
    [
      'token --help',
      /^Usage: plant-store token .*create.*list.*revoke.*To rotate: create one more.*revoke the old one/s,
    ],
    ['--version', /^\d+\.\d+\.\d+( [0-9a-f]{40}(-dirty)?)?\n$/],
  ])('should explain itself to %j', async (command, text) => {
    expect(await outcomeOfCommandLine(command)).toEqual({ code: 0, stdout: expect.stringMatching(text), stderr: '' });
  });

  it.each([
    ['', 'Usage: plant-store ', 'migrate [options]'],
    ['flourish', "error: unknown command 'flourish'", 'migrate [options]'],
    ['serve --check', "unknown option '--check'", 'Usage: plant-store serve'],
    ['migrate --schema $user', 'must not be $user', 'migrate [options]'],
    ['token create a --scope a"b', 'A scope has no white space, quotes', 'token create'],
    ['token create a --expires soon', "argument 'soon' is invalid. It should be a time such as 30m", 'token create'],
  ])('should refuse %j, say what is right, and exit with 2', async (command, reason, usage) => {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(usage);
    expect(stderr).not.toContain('REQUEST_TIMEOUT');
  });

  it.each(['', 'x'.repeat(101), 'a b', 'zoë', '5', 'Static', 'jwt:ann', 'a"b', '$(id)', 'a\u001b', TOKEN])(
    'should refuse the name %j for a token',
    async (name) => {
      const { code, stderr } = await outcomeOfCommandLine(['token', 'create', name]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('A name must')]);
    },
  );

  it.each(['\u001b[31mfoo\u009b2J', `Bearer ${TOKEN}`, TOKEN.slice(0, 30)])(
    'should repeat %j neither to a terminal nor to a log',
    async (text) => {
      for (const args of [[text], ['token', 'list', `--${text}`], ['token', 'create', 'a', '--expires', text]]) {
        const { code, stdout, stderr } = await outcomeOfCommandLine(args);
        expect([stdout, code]).toEqual(['', 2]);
        expect(stderr).toMatch(/^error: /);
        expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
        expect(stderr).not.toContain(TOKEN.slice(6, 20));
      }
    },
  );

  it.each<[string, Record<string, string>, ...RegExp[]]>([
    [
      'serve',
      { ...production, PORT: 'x', ...MISSPELT },
      /^DATABASE_URL is missing/m,
      /^PORT must/m,
      /^DATABSE_URL is no/m,
    ],
    ['token list', {}, /^DATABASE_URL is missing.* no service .* was started in this folder/m],
    ['migrate', {}, /^DATABASE_URL is missing/m],
  ])('should exit with 78 from %s with %j, and name all that is wrong', (command, variables, ...reasons) =>
    expectBadConfiguration(command, variables, ...reasons),
  );

  it.each(['migrate', 'token list'])('should exit with 1 from %s if the database is away, and say which', (command) => {
    const told = ['cannot connect to database plants at 127.0.0.1:1 as gardener', 'Start PostgreSQL'];
    return expectFailure(command, { DATABASE_URL: NOWHERE }, ...told);
  });
});

describe('plant-store token', () => {
  let database: TestDatabase;
  const made: string[] = [];
  const shown: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    // Defaults under which pg and Prisma would read other moments.
    await database.query(`DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET timezone TO "Asia/Kolkata"', current_database());
      EXECUTE format('ALTER DATABASE %I SET datestyle TO "German"', current_database());
    END $$`);
  });
  afterAll(() => database.drop());

  it.each([
    [{ password: PASSWORD }, /password authentication failed .*\. Correct .* the password \(DATABASE_PASSWORD,/],
    [
      { search: '?sslmode=require' },
      /server does not support SSL connections\. Correct its URL .*sslmode, which is disable for a server without TLS/,
    ],
  ])('should say what mends a URL with %j', async (wrong, fault) => {
    const { href } = Object.assign(new URL(database.url), wrong);
    await expectFailure('token list', { DATABASE_URL: href }, fault);
  });

  async function run(...args: string[]): Promise<{ stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await outcomeOfCommandLine(['token', ...args], { DATABASE_URL: database.url });
    expect([stderr, code]).toEqual([expect.any(String), 0]);
    if (args[0] === 'create') {
      // A script takes it from there.
      expect(stdout).toMatch(/^plant_[0-9A-Za-z]{38}\n$/);
      expect(stderr).toContain('The token is shown this once');
      made.push(stdout.trim());
    } else shown.push(stdout);
    shown.push(stderr);
    return { stdout, stderr };
  }
  const fail = (command: string, reason: string): Promise<void> =>
    expectFailure(`token ${command}`, { DATABASE_URL: database.url }, reason);
  /** The tokens of a name, each with its life in seconds, in the order of their ids. */
  const stored = (name: string): Promise<{ id: number }[]> =>
    database.query(
      `SELECT id::int, scopes, round(extract(epoch FROM expires_at - created_at))::int AS life,
         revoked_at <= now() AS revoked
       FROM access_tokens WHERE name = $1 ORDER BY id`,
      [name],
    );

  it.each<[string[], string, number | null, RegExp]>([
    [['usual'], 'plants:create', 90 * 86_400, /^(?!.*cannot create plants)/s],
    [
      ['eternal', '--expires', 'never', '--scope', 'a,plants:create', '--scope', 'b'],
      'a,plants:create,b',
      null,
      /never/,
    ],
    [['short', '--expires', '30m', '--scope', 'orders:read'], 'orders:read', 1800, /it cannot create plants/],
  ])('should create the token %j, print it alone, this once, and list it', async (options, scopes, life, told) => {
    const [name = ''] = options;
    expect((await run('create', ...options)).stderr).toMatch(told);
    expect(await stored(name)).toEqual([{ id: expect.any(Number), scopes: scopes.split(','), life, revoked: null }]);
    const [header, ...lines] = (await run('list')).stdout.split('\n');
    expect(header).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE$/);
    expect(lines.join('\n')).toMatch(RegExp(`^\\d+ +${name} +${scopes} +2\\S+Z +(2\\S+Z|never) +- +valid$`, 'm'));
  });

  it('should give a name to several tokens, and revoke one by its id, or all valid ones of the name', async () => {
    for (const expires of ['never', '30m', '1d']) await run('create', 'shop', '--expires', expires);
    await database.query(
      `UPDATE access_tokens SET expires_at = now() WHERE name = 'shop' AND expires_at > now() + interval '1 hour'`,
    );
    const [first] = await stored('shop');
    const shown = RegExp(`^${first?.id} +shop .* revoked$`, 'm');
    expect((await run('revoke', String(first?.id))).stdout).toMatch(shown);
    expect(await stored('shop')).toMatchObject([{ revoked: true }, { revoked: null }, { revoked: null }]);
    expect((await run('revoke', 'shop')).stdout.match(/^\d+ +shop .*$/gm)).toEqual([
      expect.stringMatching(/ revoked$/),
    ]);
    // The one that had expired is left as it is. A script may do it again.
    const ended = (await run('revoke', 'shop')).stdout.match(/^\d+ +shop .*$/gm);
    expect(ended?.map((line) => line.split(' ').at(-1))).toEqual(['revoked', 'revoked', 'expired']);
    expect(await stored('shop')).toMatchObject([{ revoked: true }, { revoked: true }, { revoked: null }]);
    await fail('revoke nobody', 'there is no access token "nobody": plant-store token list');
    for (const id of ['4711', '9'.repeat(30)])
      await fail(`revoke ${id}`, `there is no access token "${id}": plant-store token list`);
  });

  it('should show no terminal what was written by hand, no digest, and each token only once', async () => {
    const name = 'a\u001b[31m\nb\u009b2J';
    await run('create', 'plain');
    await database.query("UPDATE access_tokens SET name = $1 WHERE name = 'plain'", [name]);
    expect((await run('list')).stdout).toMatch(/ a\\u001b\[31m\\u000ab\\u009b2J +.* valid$/m);
    await run('revoke', name);
    expect(shown.join('\n')).not.toMatch(/[^\P{Cc}\n]/u);
    for (const secret of made.flatMap((token) => [token.slice(6, 20), ...digestForms(token)]))
      expect(shown.join('\n')).not.toContain(secret);
  });
});
