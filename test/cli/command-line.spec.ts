import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { makeToken } from '../../src/auth/token-format.js';
import { VARIABLES } from '../../src/service/environment.js';
import { createTestDatabase, MIGRATION_NAMES, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import {
  expectBadConfiguration,
  expectFailure,
  outcomeOfCommandLine,
  PASSWORD,
} from '../support/service/run-command-line.js';
import { PlantStoreProcess } from '../support/service/process.js';

describe('plant-store', () => {
  describe('called for help, or wrongly', () => {
    it('should explain itself', async () => {
      const help = await PlantStoreProcess.run('--help');
      expect(await help.ended).toBe(0);
      for (const word of ['serve', 'migrate', 'token', 'openapi', '--version', 'Exits with 0'])
        expect(help.stdout).toMatch(word);
      expect(help.stderr).toBe('');
    });

    it.each([
      ['serve --help', 'SIGTERM'],
      ['migrate -h', '--schema <name>'],
      ['openapi --help', 'OpenAPI document'],
    ])('should explain one command to "plant-store %s"', async (command, word) => {
      const help = await outcomeOfCommandLine(command);
      expect([help.stderr, help.code]).toEqual(['', 0]);
      expect(help.stdout).toMatch(/^Usage: plant-store (serve|migrate|openapi)/);
      expect(help.stdout).toContain(word);
    });

    it('should tell its version', async () => {
      const version = await outcomeOfCommandLine('--version');
      expect(version.code).toBe(0);
      const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
      const { version: expected } = JSON.parse(file) as { version: string };
      // A build from sources without a history knows no commit.
      expect(version.stdout).toMatch(/^\S+( [0-9a-f]{40}(-dirty)?)?\n$/);
      expect(version.stdout.split(' ')[0]).toBe(expected);
    });

    it.each([
      ['', 'Usage: plant-store ', 'serve [options]'],
      ['token', 'Usage: plant-store token', 'rotate [options] <name>'],
      ['flourish', "plant-store: unknown command 'flourish'", 'serve [options]'],
      ['toString', "plant-store: unknown command 'toString'", 'serve [options]'],
      ['token lst', "plant-store: unknown command 'lst'\n(Did you mean list?)", 'plant-store token'],
      [
        'migrate --shcema garden',
        "plant-store: unknown option '--shcema'\n(Did you mean --schema?)",
        'migrate [options]',
      ],
      ['--schema garden migrate', "plant-store: unknown option '--schema'", 'serve [options]'],
      ['serve --port=3000', "plant-store: unknown option '--port=3000'", 'plant-store serve [options]'],
      ['serve now', "plant-store: too many arguments for 'serve'", 'plant-store serve [options]'],
      ['migrate --schema', "plant-store: option '--schema <name>' argument missing", 'plant-store migrate'],
      ['token create', "plant-store: missing required argument 'name'", 'token create [options] <name>'],
      ['token create a b', "plant-store: too many arguments for 'create'", 'token create'],
      ['token create static', 'A name must not be static or jwt, nor begin with jwt:', 'token create'],
      ['token create 12', 'A name must not be made of digits alone', 'token create'],
      [`token create ${'x'.repeat(101)}`, 'A name must have 1 to 100 characters', 'token create'],
      ['token create a --scope a"b', 'The store has one scope, plants:create', 'token create'],
      ...['soon', '0d', '101y', '90', '-1d', '2030-02-30', '2029-02-29', '2030-12-31T25:00Z', '+275760-09-13'].map(
        (when) => [
          `token create a --expires ${when}`,
          `argument '${when}' is invalid. It should be a time from now such as 30m`,
          'token create',
        ],
      ),
      ['token rotate a --overlap never', 'It should be a time such as 30m, 12h or 2d', 'token rotate'],
      ['token rotate a --overlap -1h', 'It should be a time such as 30m, 12h or 2d', 'token rotate'],
      ['token revoke', "plant-store: missing required argument 'name|id'", 'token revoke'],
    ])(
      'should refuse "plant-store %s", say what is right, and exit with 2',
      async (command = '', reason = '', usage = '') => {
        const refused = await outcomeOfCommandLine(command);
        expect([refused.code, refused.stdout]).toEqual([2, '']);
        expect(refused.stderr).toContain(reason);
        expect(refused.stderr).toContain(usage);
        expect(refused.stderr).not.toContain('REQUEST_TIMEOUT');
      },
    );

    const steering = '\u001b[31mfoo\u009b2J';
    it.each([
      [steering],
      ['token', steering],
      ['token', 'list', `--${steering}`],
      ['token', 'create', steering],
      ['token', 'create', 'a', '--expires', steering],
      ['token', 'create', 'a', '--scope', steering],
      ['token', 'rotate', 'a', '--overlap', steering],
    ])('should pass no control characters of an argument on to a terminal (%#)', async (...args) => {
      const refused = await outcomeOfCommandLine(args);
      expect([refused.stdout, refused.code]).toEqual(['', 2]);
      expect(refused.stderr).toMatch(/^plant-store: /);
      expect(refused.stderr).not.toMatch(/[^\P{Cc}\n]/u);
    });

    const issued = makeToken();
    it.each([
      [[issued]],
      [['token', issued]],
      [['token', 'list', issued]],
      [['token', 'list', `--${issued}`]],
      [['token', 'revoke', issued]],
      [['token', 'revoke', `Bearer ${issued}`]],
      [['token', 'revoke', issued.slice(0, -3)]],
      [['token', 'create', issued]],
      [['token', 'create', 'ci', '--scope', issued]],
      [['token', 'create', 'ci', '--expires', `${'x'.repeat(30)}${issued}`]],
      [['token', 'rotate', 'ci', '--overlap', issued]],
    ])('should not repeat a token in the wrong place (%#)', async (args) => {
      const refused = await outcomeOfCommandLine(args);
      expect([refused.stdout, refused.code]).toEqual(['', 2]);
      expect(refused.stderr).not.toContain(issued.slice(6, 20));
    });

    it('should list every variable with its default in the help of serve', async () => {
      const help = await outcomeOfCommandLine('serve --help');
      const lines = help.stdout.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '));
      for (const [name, [, value, about]] of Object.entries(VARIABLES))
        expect(lines).toContain([name, value, about].filter((cell) => cell !== '').join(' | '));
      expect(help.stdout).toContain('DATABASE_URL_FILE, DATABASE_PASSWORD_FILE, MIGRATION_DATABASE_URL_FILE');
    });

    it('should not print a token in the wrong place, and have its process exit with 2', async () => {
      const token = makeToken();
      const refused = await PlantStoreProcess.run(['token', 'revoke', token]);
      expect([refused.stdout, await refused.ended]).toEqual(['', 2]);
      expect(refused.stderr).toMatch(/^plant-store: .* that token should be revoked.*\n\nUsage: plant-store token/);
      expect(refused.stderr).not.toContain(token.slice(6, 20));
    });
  });

  describe('migrate', () => {
    let database: TestDatabase;

    beforeAll(async () => {
      database = await createTestDatabase({ migrated: false });
    });
    afterAll(() => database.drop());

    it('should apply what the database lacks, once, and in another schema if one is named', async () => {
      // In production too.
      const variables = { DATABASE_URL: database.url, NODE_ENV: 'production' };
      const first = await PlantStoreProcess.run('migrate', variables);
      expect(first.stderr).toBe('');
      expect(first.stdout).toMatch(
        new RegExp(`^schema public of database \\S+ at .*: applied ${MIGRATION_NAMES.join(', ')}\n$`),
      );
      expect(await first.ended).toBe(0);

      const [second, other] = await Promise.all([
        outcomeOfCommandLine('migrate', variables),
        outcomeOfCommandLine('migrate --schema garden', variables),
      ]);
      expect(second.stdout).toMatch(/^schema public of .*: up to date\n$/);
      expect(second.code).toBe(0);
      expect(other.stdout).toMatch(/^schema garden of .*: applied .*\n$/);
      expect(
        await database.query(
          `SELECT table_schema FROM information_schema.tables WHERE table_name = 'plants' ORDER BY 1`,
        ),
      ).toEqual([{ table_schema: 'garden' }, { table_schema: 'public' }]);
    });

    it.each([
      ['', 'must name a schema of 1 to 63 bytes'],
      ['ä'.repeat(32), 'must name a schema of 1 to 63 bytes'],
      ['$user', 'must not be $user'],
    ])('should refuse the schema %j in a line that names the option', async (schema, reason) => {
      const refused = await outcomeOfCommandLine(['migrate', '--schema', schema], { DATABASE_URL: database.url });
      expect(refused.code).toBe(78);
      expect(refused.stderr).toMatch(/^plant-store: .*\n--schema: .*\n$/);
      expect(refused.stderr).toMatch(reason);
      expect(refused.stdout).toBe('');
    });

    it('should name the variable that is missing', () => expectBadConfiguration('migrate', {}, 'DATABASE_URL'));
  });

  it.each(['migrate', 'serve'])('should say, on %s, which database is out of reach', async (command) => {
    const port = await freePort();
    await expectFailure(
      command,
      { DATABASE_URL: `postgresql://gardener:${PASSWORD}@127.0.0.1:${port}/plants`, ACCESS_TOKENS: TOKEN },
      `cannot connect to database plants at 127.0.0.1:${port} as gardener`,
    );
  });

  describe('openapi', () => {
    it('should print the document and nothing else, and connect to nothing', async () => {
      const connections: unknown[] = [];
      const server = createServer((socket) => connections.push(socket.destroy())).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const printed = await PlantStoreProcess.run('openapi', {
        DATABASE_URL: `postgresql://gardener:${PASSWORD}@127.0.0.1:${port}/plants`,
        NODE_ENV: 'production',
      });
      server.close();

      expect(await printed.ended).toBe(0);
      expect(printed.stderr).toBe('');
      expect(JSON.parse(printed.stdout)).toMatchObject({
        openapi: expect.stringMatching(/^3\./) as unknown,
        paths: { '/plants': {} },
      });
      expect(connections).toEqual([]);
    });
  });
});
