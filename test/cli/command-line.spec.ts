import { describe, expect, it } from '@jest/globals';
import { makeToken } from '../../src/auth/token-format.js';
import { runCommandLine } from '../../src/service/cli/program.js';
import { createTestDatabase, MIGRATION_NAMES } from '../support/database/test-database.js';
import {
  expectBadConfiguration,
  expectFailure,
  outcomeOfCommandLine,
  PASSWORD,
} from '../support/service/run-command-line.js';

const CONTROLS = '\u001b[31mfoo\u009b2J';
const TOKEN = makeToken();
const NOWHERE = `postgresql://gardener:${PASSWORD}@127.0.0.1:1/plants`;

describe(runCommandLine.name, () => {
  it.each([
    ['--help', /^Usage: plant-store .*serve.*migrate.*openapi.*token.*Exits with 0/s],
    ['serve --help', /^Usage: plant-store serve .*--check.*DATABASE_POOL_SIZE +10 +Maximum/s],
    ['migrate -h', /^Usage: plant-store migrate .*--schema <name>.*MIGRATION_DATABASE_URL/s],
    ['token rotate --help', /^Usage: plant-store token rotate .*--overlap <time>.*1h\s+if\s+not\s+given/s],
    ['--version', /^\d+\.\d+\.\d+( [0-9a-f]{40}(-dirty)?)?\n$/],
  ])('should explain itself to %j', async (command, text) => {
    expect(await outcomeOfCommandLine(command)).toEqual({ code: 0, stdout: expect.stringMatching(text), stderr: '' });
  });

  const soon = "argument 'soon' is invalid. It should be a time such as 30m";
  it.each([
    ['', 'Usage: plant-store ', 'serve [options]'],
    ['flourish', "unknown command 'flourish'", 'serve [options]'],
    ['token lst', "unknown command 'lst'\n(Did you mean list?)", 'plant-store token'],
    ['migrate --schema $user', 'must not be $user', 'migrate [options]'],
    ['serve --port=3000', "unknown option '--port=3000'", 'serve [options]'],
    ['token create', "missing required argument 'name'", 'token create [options] <name>'],
    ['token create static', 'A name must not be static or jwt, nor begin with jwt:', 'token create'],
    ['token create a --scope a"b', 'A scope has no white space, quotes', 'token create'],
    ['token create a --expires soon', soon, 'token create'],
    ['token create a --expires 101y', "argument '101y' is invalid", 'token create'],
    ['token revoke', "missing required argument 'name|id'", 'token revoke'],
  ])('should refuse %j, say what is right, and exit with 2', async (command, reason, usage) => {
    const { code, stdout, stderr } = await outcomeOfCommandLine(command);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(usage);
    expect(stderr).not.toContain('REQUEST_TIMEOUT');
  });

  it.each([CONTROLS, TOKEN, `Bearer ${TOKEN}`])('should repeat %j neither to a terminal nor to a log', async (text) => {
    const commands = [[text], ['token', 'list', `--${text}`], ['token', 'create', text]];
    for (const args of [...commands, ['token', 'create', 'a', '--scope', text, '--expires', text]]) {
      const { code, stdout, stderr } = await outcomeOfCommandLine(args);
      expect([stdout, code]).toEqual(['', 2]);
      expect(stderr).toMatch(/^plant-store: /);
      expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
      expect(stderr).not.toContain(TOKEN.slice(6, 20));
    }
  });

  const production = { NODE_ENV: 'production' };
  it.each<[string, Record<string, string>, ...RegExp[]]>([
    ['serve', production, /^DATABASE_URL: is missing/m],
    ['token list', production, /^DATABASE_URL: is missing/m],
    ['token list', {}, /^DATABASE_URL: is missing.* no service .* was started in this folder/m],
    ['migrate', {}, /^DATABASE_URL: is missing/m],
    ['serve', { DATABASE_URL: NOWHERE.replace('postgresql', 'mysql'), PORT: 'x' }, /^DATABASE_URL: /m, /^PORT: /m],
    [
      'migrate',
      { DATABASE_URL_FILE: `/no/${PASSWORD}` },
      /^DATABASE_URL: the file of DATABASE_URL_FILE cannot be read/m,
    ],
  ])('should exit with 78 from %s with %j, and name all that is wrong', (command, variables, ...reasons) =>
    expectBadConfiguration(command, variables, ...reasons),
  );

  it.each(['migrate', 'token create a', 'token list', 'token rotate a', 'token revoke a'])(
    'should exit with 1 from %s if the database is away, and say which',
    (command) =>
      expectFailure(
        command,
        { DATABASE_URL: NOWHERE },
        'cannot connect to database plants at 127.0.0.1:1 as gardener',
        'Start PostgreSQL',
      ),
  );

  it('should print the OpenAPI document and nothing else, and connect to nothing', async () => {
    const { code, stdout, stderr } = await outcomeOfCommandLine('openapi', { ...production, DATABASE_URL: NOWHERE });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ paths: { '/plants': {} } });
  });

  it('should migrate what is not yet, also with the same URL for the owner, and a named schema', async () => {
    const database = await createTestDatabase({ migrated: false });
    const variables = { ...production, DATABASE_URL: database.url, MIGRATION_DATABASE_URL: database.url };
    const applied = `applied ${MIGRATION_NAMES.join(', ')}`;
    for (const [command, said] of [
      ['migrate', `schema public of .*: ${applied}`],
      ['migrate', 'schema public of .*: up to date'],
      ['migrate --schema garden', `schema garden of .*: ${applied}`],
    ] as const)
      expect(await outcomeOfCommandLine(command, variables)).toEqual({
        code: 0,
        stdout: expect.stringMatching(`^${said}\n$`),
        stderr: '',
      });
    await database.drop();
  });
});
