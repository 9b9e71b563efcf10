import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Migrator } from '../../src/prisma/migrator.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeContract } from '../contract/describe-contract.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Load } from '../support/http/load.js';
import { accepts, freePort } from '../support/http/free-port.js';
import { describeWith } from '../support/jest/suite.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer, errorOf, NO_PLANT } from '../support/tokens/issued-token.js';
import { expectWithin, until } from '../support/until.js';

const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'];
const EXECUTABLE = PLACES.find((path) => existsSync(path));
const MISSING = 'there is no PgBouncer in the usual places. Install one (on Debian: apt-get install pgbouncer).';
/** PgBouncer does not run as root. */
const NOBODY = 65534;
/** Ends PgBouncer when its standard input closes, as it does too when this process is killed. */
const SCRIPT = '"$0" -q "$1" & cat >/dev/null; kill $!; wait $!';
const CLIENTS = 16;
const PROMISED_MS = 2000;
const ENOUGH = 1000;

/** The settings that the documentation has, word for word, but for addresses and users. */
async function documentedSettings(): Promise<string> {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /^\[pgbouncer\]\n(.*?)^```/ms.exec(text) ?? [];
  return section.replace(/^(?:listen|auth)_.*\n/gm, '');
}

interface Pooler {
  port: number;
  stop: () => Promise<void>;
}

/** @param others more settings */
async function startPooler(others = ''): Promise<Pooler> {
  const { hostname, port: serverPort, username, password } = new URL(String(process.env.TEST_DATABASE_URL));
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-pgbouncer-'));
  const [users, configuration] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')];
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    configuration,
    `[databases]
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
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [folder, users, configuration]) await chown(path, NOBODY, NOBODY);
  const child = spawn('/bin/sh', ['-c', SCRIPT, String(EXECUTABLE), configuration], {
    stdio: ['pipe', 'ignore', 'inherit'],
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  });
  const ended = once(child, 'exit');
  await until(() => accepts(port));
  return {
    port,
    stop: async () => {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describeWith(EXECUTABLE === undefined ? MISSING : undefined, 'Behind PgBouncer in transaction mode', () => {
  let pooler: Pooler;

  beforeAll(async () => {
    pooler = await startPooler();
  });
  afterAll(() => pooler.stop());

  /** The URL of the same database through the pooler. */
  function urlOf(database: TestDatabase, { port } = pooler): string {
    const url = new URL(database.url);
    url.host = `127.0.0.1:${port}`;
    url.searchParams.set('pgbouncer', 'true');
    return url.href;
  }

  describeContract(
    runningTarget(async () => {
      const database = await createTestDatabase();
      const store = await startStoreOn({ ...database, url: urlOf(database) });
      return { ...store, database, stop: () => store.stop().then(() => database.drop()) };
    }),
  );

  it('should be refused at the start if the URL does not declare it', async () => {
    const database = await createTestDatabase();
    const url = urlOf(database).replace('pgbouncer=true', '');
    await expect(startStoreOn({ ...database, url })).rejects.toThrow(
      /^cannot use database plants_test_.*: unsupported startup parameter: statement_timeout. Declare .*\?pgbouncer=true$/,
    );
    await database.drop();
  });

  it('should be refused at the start too if the pooler drops the settings of a session', async () => {
    const database = await createTestDatabase();
    const dropping = await startPooler('ignore_startup_parameters = statement_timeout');
    const url = urlOf(database, dropping).replace('pgbouncer=true', '');
    await expect(startStoreOn({ ...database, url })).rejects.toThrow(
      /^cannot use database plants_test_.*: the session lacks the settings .*a pooler drops them. Declare .*\?pgbouncer=true$/,
    );
    await dropping.stop();
    await database.drop();
  });

  it('should migrate, create plants that are on the disk, keep no statement, and refuse a revoked token', async () => {
    const database = await createTestDatabase({ migrated: false });
    const url = urlOf(database);
    const places = [{}, {}, {}, { schema: 'garden' }];
    await Promise.all(places.map((place) => new Migrator({ url, ...place }).migrate()));
    expect(await database.query('SELECT id FROM plants UNION SELECT id FROM garden.plants')).toEqual([]);
    // Its sessions do not wait for the disk by default.
    await database.query(`
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit TO off', current_database()); END $$;
      CREATE TABLE told (synchronous text, prepared bigint);
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO public.told
          SELECT current_setting('synchronous_commit'), count(*) FROM pg_prepared_statements WHERE name <> '';
        RETURN NULL;
      END $$;
      CREATE TRIGGER tell AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION tell()`);
    const store = await startStoreOn({ ...database, url });
    const { stdout: token } = await outcomeOfCommandLine('token create gardener', { DATABASE_URL: url });
    const verdict = async (): Promise<unknown> => errorOf(await store.post(NO_PLANT, bearer(token.trim())));
    expect(await verdict()).toBe(40003);
    const load = new Load(store.port, CLIENTS);
    await until(() => load.created.length >= ENOUGH);
    await load.stop();
    expect(await outcomeOfCommandLine('token revoke gardener', { DATABASE_URL: url })).toMatchObject({ code: 0 });
    await expectWithin(PROMISED_MS, async () => (await verdict()) === 40101);
    await store.stop();
    expect(load.failures).toEqual([]);
    expect(await load.compareWith(database)).toMatchObject({ lost: 0, storedThoughRefused: 0 });
    expect(await database.query('SELECT DISTINCT * FROM told')).toEqual([{ synchronous: 'on', prepared: '0' }]);
    await database.drop();
  });
});
