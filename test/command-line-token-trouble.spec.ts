import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from './support/free-port.js';
import { outcomeOfCommandLine } from './support/run-command-line.js';
import { expectFailure, PASSWORD } from './support/process-failure.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const COMMANDS = ['token create --name ci', 'token list', 'token revoke ci', 'token rotate ci'];

describe('plant-store token, on a database that it cannot work with', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each(COMMANDS)('should name, for %s in production, the variable that is missing', (command) =>
    expectFailure(command, { NODE_ENV: 'production' }, /^DATABASE_URL: is missing/m),
  );

  it('should name all that is wrong with the configuration, and show no secret', () =>
    expectFailure(
      'token list',
      { DATABASE_URL: `mysql://gardener:${PASSWORD}@localhost/plants`, PORT: 'many' },
      /^DATABASE_URL: /m,
      /^PORT: /m,
    ));

  it('should refuse a schema that cannot be, in a line that names the option', async () => {
    const refused = await outcomeOfCommandLine(['token', 'list', '--schema', ''], { DATABASE_URL: database.url });
    expect(refused.code).toBe(1);
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
      'token create --name ci --schema garden',
      { DATABASE_URL: database.url },
      /^plant-store: schema garden of .* is not migrated.*Run `plant-store migrate --schema garden`/,
    );
    await bare.drop();
  });

  it('should give up on a table that stays locked, and have changed nothing', async () => {
    const lock = new pg.Client(database.url);
    await lock.connect();
    try {
      await lock.query('BEGIN; LOCK TABLE access_tokens IN ACCESS EXCLUSIVE MODE');
      const variables = { DATABASE_URL: database.url };
      await Promise.all([
        expectFailure('token create --name ci', variables, 'canceling statement due to statement timeout'),
        expectFailure('token list', variables, 'Query read timeout'),
      ]);
    } finally {
      await lock.end();
    }
    expect(await database.query('SELECT FROM access_tokens')).toEqual([]);
  });

  it.each([
    ['token create --name ci', 'permission denied for table access_tokens'],
    ['token list', 'permission denied for table access_tokens'],
  ])('should say, on %s, which privilege is lacking', async (command, reason) => {
    const role = `reader_${new URL(database.url).pathname.slice(-12)}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}`);
    try {
      const url = new URL(database.url);
      url.username = role;
      url.password = PASSWORD;
      await expectFailure(command, { DATABASE_URL: url.href }, `as ${role}: ${reason}`);
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});
