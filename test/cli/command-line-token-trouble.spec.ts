import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import {
  expectBadConfiguration,
  expectFailure,
  outcomeOfCommandLine,
  PASSWORD,
} from '../support/service/run-command-line.js';
import { TokenCommands } from '../support/tokens/token-commands.js';

const COMMANDS = ['token create ci', 'token list', 'token revoke ci', 'token rotate ci'];

describe('plant-store token, on a database that it cannot work with', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(COMMANDS)('should name, for %s in production, the variable that is missing', (command) =>
    expectBadConfiguration(command, { NODE_ENV: 'production' }, /^DATABASE_URL: is missing/m),
  );

  it('should name all that is wrong with the configuration, and show no secret', () =>
    expectBadConfiguration(
      'token list',
      { DATABASE_URL: `mysql://gardener:${PASSWORD}@localhost/plants`, PORT: 'many' },
      /^DATABASE_URL: /m,
      /^PORT: /m,
    ));

  it('should refuse a schema that cannot be, in a line that names the option', async () => {
    const refused = await outcomeOfCommandLine(['token', 'list', '--schema', ''], { DATABASE_URL: database.url });
    expect(refused.code).toBe(78);
    expect(refused.stderr).toMatch(/^plant-store: .*\n--schema: must name a schema of 1 to 63 bytes.*\n$/);
  });

  it.each(COMMANDS)('should say, on %s, which database is out of reach', async (command) => {
    const port = await freePort();
    await expectFailure(
      command,
      { DATABASE_URL: `postgresql://gardener@127.0.0.1:${port}/plants`, DATABASE_PASSWORD: PASSWORD },
      `cannot connect to database plants at 127.0.0.1:${port} as gardener`,
    );
  });

  it('should say how to migrate a database that is not, or has the tables in another schema', async () => {
    const bare = await createTestDatabase({ migrated: false });
    await expectFailure('token list', { DATABASE_URL: bare.url }, 'is not migrated', 'Run `plant-store migrate`');
    await expectFailure(
      'token create  ci --schema garden',
      { DATABASE_URL: database.url },
      /^plant-store: schema garden of .* is not migrated.*Run `plant-store migrate`/,
    );
    await bare.drop();
  });

  it.each([
    ['token create  ci', 'permission denied for table access_tokens'],
    ['token list', 'permission denied for table access_tokens'],
  ])('should say, on %s, which privilege is lacking', async (command, reason) => {
    const role = `reader_${new URL(database.url).pathname.slice(-12)}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}`);
    try {
      const url = new URL(database.url);
      url.username = role;
      url.password = PASSWORD;
      await expectFailure(command, { DATABASE_URL: url.href }, reason);
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});

describe('plant-store token, on a connection that breaks', () => {
  it('should say of a change that it may have been done', async () => {
    const database = await createTestDatabase();
    const proxy = await TcpProxy.start(database.url);
    const commands = new TokenCommands({ url: proxy.url, query: (...args) => database.query(...args) });
    try {
      proxy.loseAnswerTo('COMMIT\0');
      const told = await commands.fail(1, 'create', 'ci');
      expect(told).toMatch(/^plant-store: outcome unknown, see plant-store token list: /);
      expect(await commands.states('ci')).toEqual(['valid']);
    } finally {
      await proxy.close();
      await database.drop();
    }
  });
});
