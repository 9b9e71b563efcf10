import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { onTokens, withDatabase } from '../../src/cli/database.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { expectBadConfiguration, expectFailure, PASSWORD } from '../support/service/process-failure.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
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
      'token create --name ci --schema garden',
      { DATABASE_URL: database.url },
      /^plant-store: schema garden of .* is not migrated.*Run `plant-store migrate`/,
    );
    await bare.drop();
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

/** As it is at the end of a statement's text; "READ COMMITTED" does not. */
const COMMIT = 'COMMIT\0';

describe('plant-store token, on a connection that breaks', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  /** Through the proxy. */
  let commands: TokenCommands;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    commands = new TokenCommands({ url: proxy.url, query: (...args) => database.query(...args) });
  });
  afterEach(async () => {
    await proxy.close();
    await database.drop();
  });

  it.each([
    [
      ['create', '--name', 'ci'],
      'If it has a new valid one with the name ci, nobody has that: rotate or revoke it',
      ['expired', 'valid'],
    ],
    [
      ['rotate', 'old', '--overlap', '0'],
      'If it has a new valid one with the name old, nobody has that, and the old ones have ended or end after the ' +
        'overlap: rotate again, and then revoke the one that nobody has by its id',
      ['revoked', 'valid'],
    ],
    [['revoke', 'old'], 'To revoke again does no harm', ['revoked']],
  ])('should say of token %j that it may have been done', async (args, advice, states) => {
    const name = args.at(0) === 'create' ? 'ci' : 'old';
    await commands.issue(name, args.at(0) === 'create' ? { expires: '-1 second' } : {});
    proxy.loseAnswerTo(COMMIT);
    const told = await commands.fail(1, ...args);
    expect(told).toMatch(
      /^plant-store: whether the change was made is not known, as the database did not confirm it \(.+\)\. /,
    );
    expect(told).toContain(`See plant-store token list. ${advice}\n`);
    expect(await commands.states(name)).toEqual(states);
  });

  it('should say so too of a server that is shut down before it has answered', async () => {
    // Fires in the midst of COMMIT.
    await atCommit(`PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60)`);
    expect(await commands.fail(1, 'create', '--name', 'ci')).toMatch(
      /did not confirm it \(terminating connection due to administrator command\)/,
    );
  });

  it('should not say so if the server refused it, or the connection broke before', async () => {
    await atCommit(`RAISE 'not today'`);
    expect(await commands.fail(1, 'create', '--name', 'ci')).toMatch(/^plant-store: schema public of .*: not today\n$/);
    proxy.loseAnswerTo('INSERT');
    const broken = await commands.fail(1, 'create', '--name', 'ci');
    expect(broken).toMatch(/^plant-store: schema public of /);
    expect(broken).not.toMatch('not known');
    expect(await commands.list()).toEqual([]);
  });

  it('should have what was done although the server does not take leave', async () => {
    const done = await withDatabase(
      { url: proxy.url },
      onTokens(() => {
        proxy.freeze();
        return Promise.resolve('done');
      }),
    );
    expect(done).toBe('done');
  });

  async function atCommit(statement: string): Promise<void> {
    await database.query(`CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement}; END $$`);
    await database.query(
      `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON access_tokens DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION act()`,
    );
  }
});
