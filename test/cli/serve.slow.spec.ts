import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TableLock } from '../support/database/test-database.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TakenPort } from '../support/http/free-port.js';
import { expectFailure } from '../support/service/run-command-line.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { TokenCommands } from '../support/tokens/token-commands.js';

/** Runs a shell script in the place of Node's own. */
const SHELL = `
  const [, script, ...args] = process.argv;
  process.exitCode = require('node:child_process').spawnSync('sh', ['-c', script, ...args], { stdio: 'inherit' }).status;
`;
const MAIN = new URL('../../dist/main.js', import.meta.url).pathname;

describe('plant-store, on its database', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('CREATE SCHEMA others CREATE TABLE orders (id INT)');
  });
  afterAll(() => database.drop());

  it.each([
    ['http://127.0.0.1:1/plants', 'Start PostgreSQL'],
    ['?schema=others', 'Run `plant-store migrate`'],
  ])('should not start with the database %s, exit with 1, and say what to do', async (url, advice) => {
    const DATABASE_URL = new URL(url.replace(/^http/, 'postgresql'), database.url).href;
    await expectFailure('serve', { ...serviceVariables(database.url), DATABASE_URL }, advice);
  });

  it('should not start on a port that is taken, or an address of another machine', async () => {
    using taken = await TakenPort.take();
    const variables = serviceVariables(database.url);
    const faults: [string, string, string][] = [
      ['PORT', String(taken.number), `PORT: ${taken.number} on "127\\.0\\.0\\.1" .*address already in use`],
      ['MANAGEMENT_PORT', String(taken.number), `MANAGEMENT_PORT: ${taken.number} on .*address already in use`],
      // 192.0.2.0/24 is set aside for documentation (RFC 5737).
      ['HOST', '192.0.2.1', 'PORT: .* on "192\\.0\\.2\\.1" .*address not available'],
    ];
    for (const [name, value, fault] of faults)
      await expectFailure('serve', { ...variables, [name]: value }, new RegExp(`^${fault}`, 'm'));
  });

  it('should start in production without a token, print no command, and say once how to create one', async () => {
    const production = { NODE_ENV: 'production', ACCESS_TOKENS: '', HOST: '0.0.0.0' };
    await using service = await PlantStoreProcess.serve(database.url, production);
    await service.printed(/No access token is valid now, .*plant-store token create NAME/);
    expect(service.output).toMatch(/"Listening on http:\/\/0\.0\.0\.0:\d+\/plants"/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(service.output).not.toMatch(/curl|psql/);
  });

  it('should end in time if the database does not say whether there is a token', async () => {
    await using lock = await TableLock.take(database, 'access_tokens');
    await using service = await PlantStoreProcess.serve(database.url, { ACCESS_TOKENS: '' });
    await lock.awaited();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should give up on tokens that stay locked, and have changed nothing', async () => {
    await using lock = await TableLock.take(database, 'access_tokens');
    const locked = expectFailure('token create locked', { DATABASE_URL: database.url }, 'canceling statement due to');
    await lock.awaited();
    await locked;
  });

  // Only there is a file that is always full.
  (process.platform === 'linux' ? describe : describe.skip)('with nowhere to print to', () => {
    /** @param rest redirects the output, after the command */
    async function run(command: string, rest = '; } >/dev/full'): Promise<[number | string, string]> {
      const script = `{ "$0" "$1" ${command}${rest}`;
      const ran = new PlantStoreProcess(['-e', SHELL, script, process.execPath, MAIN], {
        script: '--input-type=commonjs',
        variables: { DATABASE_URL: database.url },
      });
      return [await ran.ended, ran.stderr];
    }

    it('should name a token that nobody has, to revoke it, and what became of the old one', async () => {
      const commands = new TokenCommands(database);
      const created = await run('token create unprinted --expires 1h');
      const { id } = await commands.only('unprinted');
      const made = (one: number): string => `plant-store: the access token unprinted with the id ${one} was made, but`;
      expect(created).toEqual([1, expect.stringContaining(`${made(id)} could not be printed (ENOSPC`)]);
      expect(created[1]).toContain(`As nobody has it now, revoke it: plant-store token revoke ${id}\n`);
      const rotated = await run('token rotate unprinted', '; echo "and $?" >&2; } | :');
      expect(rotated[1]).toMatch(new RegExp(`^${made(id + 1)} .*EPIPE.* The one with the id ${id} stays valid until`));
      expect(rotated[1]).toMatch(
        / rotate again \(plant-store token rotate unprinted\), and then revoke it: .*\nand 1\n$/,
      );
    });

    it.each(['token list', 'openapi'])('should fail to print the result of %s', async (command) => {
      expect(await run(command)).toEqual([1, expect.stringContaining('standard output cannot be written to (ENOSPC')]);
    });

    it('should not complain of a reader that has read enough', async () => {
      expect(await run('token list; echo "and $?" >&2', '; } | :')).toEqual([0, 'and 0\n']);
    });
  });
});
