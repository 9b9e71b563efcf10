import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { makeToken } from '../../src/auth/token-format.js';
import { MIGRATION_NAMES } from '../support/database/migration-names.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { expectBadConfiguration, expectFailure, PASSWORD } from '../support/service/process-failure.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';

describe('plant-store', () => {
  describe('called for help, or wrongly', () => {
    it('should explain itself', async () => {
      const help = await PlantStoreProcess.run('--help');
      expect(await help.ended).toBe(0);
      for (const word of ['serve', 'migrate', 'token', 'openapi', '--schema', '--version', 'Exits with 0'])
        expect(help.stdout).toMatch(word);
      expect(help.stderr).toBe('');
    });

    it.each([
      ['serve --help', 'SIGTERM'],
      ['migrate -h', '--schema NAME'],
      ['openapi --help', 'OpenAPI document'],
    ])('should explain one command to "plant-store %s"', async (command, word) => {
      const help = await outcomeOfCommandLine(command);
      expect([help.stderr, help.code]).toEqual(['', 0]);
      expect(help.stdout).toMatch(/^plant-store (serve|migrate|openapi)/);
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
      ['', 'a command is missing', 'plant-store serve '],
      ['flourish', 'there is no command "flourish"', 'plant-store serve '],
      ['token flourish', 'there is no command "token flourish"', 'plant-store token'],
      ['migrate --shcema garden', 'there is no option "--shcema"', 'plant-store migrate '],
      ['toString', 'there is no command "toString"', 'plant-store serve '],
      ['--schema garden migrate', 'there is no option "--schema"', 'plant-store serve '],
      ['serve --port=3000', 'there is no option "--port"', 'plant-store serve '],
      ['serve now', 'serve takes no "now"', 'plant-store serve '],
      ['serve --schema garden', 'there is no option "--schema"', 'plant-store serve '],
      ['migrate --schema', "Option '--schema <value>' argument missing", 'plant-store migrate [--schema NAME]'],
      ['migrate --schema a --schema b', '--schema is given more than once', 'plant-store migrate [--schema NAME]'],
      ['openapi --json', 'there is no option "--json"', 'plant-store openapi '],
    ])(
      'should refuse "plant-store %s", say why, tell how it is called, and exit with 2',
      async (command, reason, usage) => {
        const refused = await outcomeOfCommandLine(command);
        expect(refused.code).toBe(2);
        expect(refused.stderr).toContain(`plant-store: ${reason}`);
        expect(refused.stderr).toContain(usage);
        expect(refused.stdout).toBe('');
      },
    );

    it('should not print a token in the wrong place, and have its process exit with 2', async () => {
      const token = makeToken();
      const refused = await PlantStoreProcess.run(['token', 'revoke', token]);
      expect([refused.stdout, await refused.ended]).toEqual(['', 2]);
      expect(refused.stderr).toMatch(/^plant-store: .*\n\nplant-store token/);
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
