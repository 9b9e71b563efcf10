import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Migrator } from '../../src/database/migrator.js';
import { giveTo } from '../../src/embedded-postgres/data-directory.js';
import { runningTarget } from '../contract/contract-target.js';
import { describePlants } from '../contract/plants.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { accepts, freePort } from '../support/http/free-port.js';
import { Load } from '../support/http/load.js';
import { describeWith, outcomeOfCommandLine } from '../support/service/process.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer, errorOf, NO_PLANT } from '../support/tokens/tokens.js';
import { expectWithin, until } from '../support/until.js';

const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'];
const EXECUTABLE = PLACES.find((path) => existsSync(path));
const MISSING = 'there is no PgBouncer in the usual places. Install one (on Debian: apt-get install pgbouncer).';
/** PgBouncer does not run as root. */
const NOBODY = { uid: 65534, gid: 65534 };
/** Ends PgBouncer when its standard input closes, as it does too when this process is killed. */
const SCRIPT = '"$0" -q "$1" & cat >/dev/null; kill $!; wait $!';
const CLIENTS = 16;
const ENOUGH = 1000;

/** The settings that the documentation has, word for word, but for addresses and users. */
async function documentedSettings(): Promise<string> {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /^\[pgbouncer\]\n(.*?)^```/ms.exec(text) ?? [];
  return section.replace(/^(?:listen|auth)_.*\n/gm, '');
}

type Pooler = Awaited<ReturnType<typeof startPooler>>;

/** @param others more settings */
async function startPooler(others = '') {
  const { hostname, port: serverPort, username, password } = new URL(String(process.env.TEST_DATABASE_URL));
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-pgbouncer-'));
  const [users, configuration] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')];
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  const settings = `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
${await documentedSettings()}
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
; Fewer sessions than the service has connections: it has to share them.
default_pool_size = 4
${others}
`;
  await writeFile(configuration, settings);
  const account = process.getuid?.() === 0 ? NOBODY : {};
  for (const path of [folder, users, configuration]) await giveTo(account, path);
  const stdio: StdioOptions = ['pipe', 'ignore', 'inherit'];
  const child = spawn('/bin/sh', ['-c', SCRIPT, String(EXECUTABLE), configuration], { stdio, ...account });
  const ended = once(child, 'exit');
  await until(() => accepts(port));
  const stop = async (): Promise<void> => {
    child.stdin?.end();
    await ended;
    await rm(folder, { recursive: true });
  };
  return { port, stop };
}

/** The URL of a database through a pooler. */
function urlThrough({ port }: Pooler, database: TestDatabase, parameters: Record<string, string>): string {
  const url = Object.assign(new URL(database.url), { host: `127.0.0.1:${port}` });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

describeWith(EXECUTABLE === undefined ? MISSING : undefined, 'Behind PgBouncer in transaction mode', () => {
  let pooler: Pooler;

  beforeAll(async () => {
    pooler = await startPooler();
  });
  afterAll(() => pooler.stop());

  const declared = (database: TestDatabase): string => urlThrough(pooler, database, { pgbouncer: 'true' });

  describePlants(
    runningTarget(async () => {
      const database = await createTestDatabase();
      const store = await startStoreOn({ ...database, url: declared(database) });
      return { ...store, database, stop: () => store.stop().then(() => database.drop()) };
    }),
  );

  it.each([
    ['refuses the settings of a session', '', /: unsupported startup parameter: statement_timeout. /],
    [
      'drops them',
      'ignore_startup_parameters = statement_timeout',
      /: the session lacks the settings .*a pooler drops/,
    ],
  ])('should be refused at the start if the URL does not declare it, and it %s', async (_, settings, reason) => {
    const [database, another] = await Promise.all([createTestDatabase(), startPooler(settings)]);
    const start = startStoreOn({ ...database, url: urlThrough(another, database, {}) });
    const message = RegExp(
      `^cannot use schema public of database plants_test_.*${reason.source}.*Declare .*\\?pgbouncer=true$`,
    );
    await expect(start).rejects.toThrow(message);
    await another.stop();
    await database.drop();
  });

  it('should migrate, issue and revoke tokens, and lose no plant', async () => {
    const database = await createTestDatabase({ migrated: false });
    const url = declared(database);
    await Promise.all([1, 2, 3].map(() => new Migrator({ url }).migrate()));
    const store = await startStoreOn({ ...database, url });
    const { stdout: token } = await outcomeOfCommandLine('token create gardener', { DATABASE_URL: url });
    const verdict = async (): Promise<unknown> => errorOf(await store.post(NO_PLANT, bearer(token.trim())));
    expect(await verdict()).toBe(40003);
    await outcomeOfCommandLine('token revoke gardener', { DATABASE_URL: url });
    await expectWithin(2000, async () => (await verdict()) === 40101);
    const load = new Load(store.port, CLIENTS);
    await until(() => load.created.length >= ENOUGH);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    await store.stop();
    await database.drop();
  });
});
