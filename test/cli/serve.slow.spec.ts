import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, openTestConnection, type TestDatabase } from '../support/database/test-database.js';
import { portOf, takePort } from '../support/http/free-port.js';
import { CLI, expectFailure, PlantStoreProcess, serviceVariables } from '../support/service/process.js';

describe('plant-store, on its database', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('CREATE SCHEMA others');
  });
  afterAll(() => database.drop());

  it('should not start without its tables, on a port that is taken, or an address of another machine', async () => {
    using taken = await takePort();
    const faults: [string, string, RegExp][] = [
      ['DATABASE_URL', new URL('?schema=others', database.url).href, /Run `plant-store migrate --schema others`/],
      ['MANAGEMENT_PORT', String(taken.number), /^MANAGEMENT_PORT: \d+ on "127\.0\.0\.1" .*address already in use/m],
      // 192.0.2.0/24 is set aside for documentation (RFC 5737).
      ['HOST', '192.0.2.1', /^PORT: .* on "192\.0\.2\.1" .*address not available/m],
    ];
    for (const [name, value, fault] of faults)
      await expectFailure('serve', { ...serviceVariables(database.url), [name]: value }, fault);
  });

  it('should end at the first signal as long as its database does not answer', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const variables = serviceVariables(`postgresql://nobody@127.0.0.1:${portOf(silent)}/plants`);
    const service = new PlantStoreProcess(['serve'], { variables });
    await once(silent, 'connection');
    service.signal('SIGTERM');
    expect([await service.ended, service.output]).toEqual([0, expect.not.stringContaining('cannot connect')]);
    silent.close();
  });

  it('should not start while another session locks a table that it checks, and say so', async () => {
    const other = await openTestConnection(database.url);
    await other.query('BEGIN');
    await other.query('LOCK _prisma_migrations IN ACCESS EXCLUSIVE MODE');
    const late = /: no answer came within 10 s, another session may hold a lock on a table of the store$/m;
    await expectFailure('serve', serviceVariables(database.url), late);
    await other.end();
  });

  it('should start as dist/main.js in production without a token, and say once how to create one', async () => {
    const script = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const production = { NODE_ENV: 'production', ACCESS_TOKENS: '', HOST: '0.0.0.0' };
    const variables = { ...serviceVariables(database.url), ...production };
    await using service = await new PlantStoreProcess([], { script, variables }).listening();
    await service.printed(/No access token is valid now, .*plant-store token create NAME/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    const plain = { level: 'info', message: expect.stringMatching(/^http:\S+ is plain HTTP: .*TLS/) };
    expect(service.log).toContainEqual(expect.objectContaining(plain));
    expect(service.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(service.output).not.toMatch(/curl|psql/);
    // It takes no arguments.
    const wrong = await PlantStoreProcess.run('migrate', {}, { script });
    expect([await wrong.ended, wrong.stderr]).toEqual([2, expect.stringContaining('dist/cli.js has the commands')]);
  });

  // Only there is a file that is always full.
  (process.platform === 'linux' ? it : it.skip).each([
    ['token create unread | :', 1, /^ID .*^\d+ +unread .* valid$.*^plant-store: .*EPIPE.* token revoke \d+$/ms],
    ['openapi >/dev/full', 1, /^plant-store: standard output cannot be written to \(ENOSPC/],
    // Its reader has read enough.
    ['token list | :', 0, /^$/],
  ])('should end %j with %i, and name a token that nobody has', async (command, expected, told) => {
    // `pipefail` is the shell's way to the code of the command itself.
    const script = `set -o pipefail; '${process.execPath}' '${CLI}' ${command}`;
    const variables = { DATABASE_URL: database.url };
    const ran = await PlantStoreProcess.run(['-c', script], variables, { program: 'bash' });
    expect([await ran.ended, ran.stderr]).toEqual([expected, expect.stringMatching(told)]);
  });
});
