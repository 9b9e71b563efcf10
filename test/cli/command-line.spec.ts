import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeToken } from '../../src/auth/token-format.js';
import { runCommandLine } from '../../src/cli/program.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { takePort } from '../support/http/free-port.js';
import {
  expectBadConfiguration,
  expectFailure,
  outcomeOfCommandLine,
  PASSWORD,
  PlantStoreProcess,
  serviceVariables,
} from '../support/service/process.js';
import { digestForms, issueToken } from '../support/tokens/tokens.js';

const TOKEN = makeToken();
const NOWHERE = `postgresql://gardener:${PASSWORD}@127.0.0.1:1/plants`;
const production = { NODE_ENV: 'production' };

describe(runCommandLine.name, () => {
  it.each([
    ['--help', /^Usage: plant-store .*serve.*migrate.*openapi.*token.*Exits with 0/s],
    ['serve --help', /^Usage: plant-store serve .*--check.*DATABASE_POOL_SIZE +10 +Maximum/s],
    ['--version', /^\d+\.\d+\.\d+( [0-9a-f]{40}(-dirty)?)?\n$/],
  ])('should explain itself to %j', async (command, text) => {
    expect(await outcomeOfCommandLine(command)).toEqual({ code: 0, stdout: expect.stringMatching(text), stderr: '' });
  });

  it.each([
    ['', 'Usage: plant-store ', 'serve [options]'],
    ['flourish', "unknown command 'flourish'", 'serve [options]'],
    ['migrate --schema $user', 'must not be $user', 'migrate [options]'],
    ['token create static', 'A name must not be static or jwt, nor begin with jwt:', 'token create'],
    ['token create a --scope a"b', 'A scope has no white space, quotes', 'token create'],
    ['token create a --expires soon', "argument 'soon' is invalid. It should be a time such as 30m", 'token create'],
    ['token create a --expires 101y', "argument '101y' is invalid", 'token create'],
  ])('should refuse %j, say what is right, and exit with 2', async (command, reason, usage) => {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(usage);
    expect(stderr).not.toContain('REQUEST_TIMEOUT');
  });

  it.each(['\u001b[31mfoo\u009b2J', `Bearer ${TOKEN}`])(
    'should repeat %j neither to a terminal nor to a log',
    async (text) => {
      for (const args of [[text], ['token', 'list', `--${text}`], ['token', 'create', 'a', '--expires', text]]) {
        const { code, stdout, stderr } = await outcomeOfCommandLine(args);
        expect([stdout, code]).toEqual(['', 2]);
        expect(stderr).toMatch(/^plant-store: /);
        expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
        expect(stderr).not.toContain(TOKEN.slice(6, 20));
      }
    },
  );

  it.each<[string, Record<string, string>, ...RegExp[]]>([
    ['serve', { ...production, PORT: 'x' }, /^DATABASE_URL: is missing/m, /^PORT: /m],
    ['token list', {}, /^DATABASE_URL: is missing.* no service .* was started in this folder/m],
    ['migrate', {}, /^DATABASE_URL: is missing/m],
  ])('should exit with 78 from %s with %j, and name all that is wrong', (command, variables, ...reasons) =>
    expectBadConfiguration(command, variables, ...reasons),
  );

  it.each(['migrate', 'token list', 'serve --check'])(
    'should exit with 1 from %s if the database is away, and say which',
    (command) => {
      const told = ['cannot connect to database plants at 127.0.0.1:1 as gardener', 'Start PostgreSQL'];
      return expectFailure(command, { DATABASE_URL: NOWHERE }, ...told);
    },
  );
});

describe('plant-store serve --check', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('should find nothing wrong beside a service on its ports, change nothing, and exit with 0 for warnings too', async () => {
    using taken = await takePort();
    const PORT = String(taken.number);
    const variables = { ...serviceVariables(database.url), ...production, ACCESS_TOKENS: '', PORT };
    await issueToken(database);
    const contents = `SELECT t::text, xmin::text FROM access_tokens AS t UNION ALL SELECT m::text, '' FROM _prisma_migrations AS m
      UNION ALL SELECT p::text, '' FROM plants AS p UNION ALL SELECT c::text, '' FROM pg_class AS c WHERE relkind IN ('r', 'S')`;
    const before = await database.query(contents);
    const fine = { code: 0, stdout: 'The service can start, with this database.\n', stderr: '' };
    expect(await outcomeOfCommandLine('serve --check', variables)).toEqual(fine);
    expect(await database.query(contents)).toEqual(before);

    const url = new URL(database.url);
    url.searchParams.set('connect_timeout', '5');
    const warned = await outcomeOfCommandLine('serve --check', { ...variables, DATABASE_URL: url.href });
    expect([warned.code, warned.stderr]).toEqual([0, '']);
    expect(warned.stdout).toMatch(/^Warning: .*connect_timeout.*\n.* can start/);
  });

  it('should list all faults at once, those of the database too, exit with 78, and migrate nothing', async () => {
    const bare = await createTestDatabase({ migrated: false });
    const variables = { DATABASE_URL: bare.url, PORT: 'many', ACCESS_TOKENS: PASSWORD };
    const faults = [/^PORT: is "many", should be/m, /^ACCESS_TOKENS: /m, /^schema public .* is not migrated: /m];
    await expectBadConfiguration('serve --check', variables, ...faults);
    expect(await bare.query("SELECT FROM pg_class WHERE relname = 'plants'")).toEqual([]);
    await bare.drop();
    for (const [wrong, fault] of [
      [{ password: PASSWORD }, /password authentication failed .*\. Correct .* the password \(DATABASE_PASSWORD,/],
      [{ password: '' }, /wants a password, and none is given\. Correct .* the password \(DATABASE_PASSWORD,/],
      [{ username: 'no_such' }, /(?:"no_such"|user "no_such").* Correct the user in its URL/],
      [{ pathname: '/no_such' }, /"no_such" does not exist\. Create it \(CREATE DATABASE\), or correct its URL/],
    ] as const) {
      const { href } = Object.assign(new URL(database.url), wrong);
      await expectBadConfiguration('serve --check', { DATABASE_URL: href }, fault);
    }
  });

  it('should make nothing for an embedded database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-check-'));
    const { stderr, stdout, ended } = await PlantStoreProcess.run('serve --check', {}, { cwd: folder });
    expect([stderr, await ended]).toEqual(['', 0]);
    expect(stdout).toBe(`The service can start, with a PostgreSQL of its own, with its data in ${folder}/.data.\n`);
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});

describe('plant-store token', () => {
  let database: TestDatabase;
  const made: string[] = [];
  const shown: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

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
      `SELECT id::int, scopes, round(extract(epoch FROM expires_at - created_at))::int AS life, revoked_at <= now() AS revoked
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
    await fail('revoke nobody', 'there is no access token with the name "nobody". See plant-store token list');
    await fail('revoke 4711', 'there is no access token with the id "4711". See plant-store token list');
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
