import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withTokensOf } from '../src/cli/token/token-database.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { TokenCommands } from './support/token-commands.js';

/** As it stands at the end of a statement's text; "READ COMMITTED" does not. */
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

  it('should not say so where the server refused it, or the connection broke before', async () => {
    await atCommit(`RAISE 'not today'`);
    expect(await commands.fail(1, 'create', '--name', 'ci')).toMatch(/^plant-store: schema public of .*: not today\n$/);
    proxy.loseAnswerTo('INSERT');
    const broken = await commands.fail(1, 'create', '--name', 'ci');
    expect(broken).toMatch(/^plant-store: schema public of /);
    expect(broken).not.toMatch('not known');
    expect(await commands.list()).toEqual([]);
  });

  it('should have what was done although the server does not take leave', async () => {
    const done = await withTokensOf({ url: proxy.url }, () => {
      proxy.freeze();
      return Promise.resolve('done');
    });
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
