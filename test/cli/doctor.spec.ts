import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../src/cli/doctor/database-checks.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { TakenPort } from '../support/http/taken-port.js';
import { PASSWORD } from '../support/service/process-failure.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { serviceVariables } from '../support/service/service-variables.js';
import { startStoreOn } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

/** The server of the tests may be one that does not wait for the disk. */
const CARELESS = ['fsync', 'full_page_writes'];

describe('plant-store doctor', () => {
  let database: TestDatabase;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-doctor-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  async function examine(variables: Record<string, string> = {}): Promise<Map<string, Finding>> {
    const { code, stdout, stderr } = await outcomeOfCommandLine('doctor --json', {
      ...serviceVariables(database.url),
      ...variables,
    });
    const findings = JSON.parse(stdout) as Finding[];
    const faults = findings.filter(({ state }) => state === 'fault').length;
    const summary = `plant-store: the doctor has found ${faults} fault${faults > 1 ? 's' : ''}\n`;
    expect([code, stderr]).toEqual(faults > 0 ? [1, summary] : [0, '']);
    expect(stdout).not.toContain(TOKEN);
    expect(stdout).not.toContain(PASSWORD);
    expect(stdout).not.toContain(new URL(database.url).password);
    for (const { state, found, advice } of findings) {
      expect(found).not.toBe('');
      expect(advice === '').toBe(state === 'ok');
    }
    const checks = findings.map(({ check }) => check);
    expect(checks.filter((check, index) => check !== 'variables' && checks.indexOf(check) < index)).toEqual([]);
    return new Map(findings.map((one) => [one.check, one]));
  }

  /** All that is not ok, but for the server of the tests, and for a .env in this folder. */
  function troubles(findings: Map<string, Finding>): Record<string, string> {
    const others = [...findings.values()].filter(
      ({ check, state, found }) =>
        state !== 'ok' && !CARELESS.includes(check) && (check !== 'secret files' || found.includes(folder)),
    );
    return Object.fromEntries(others.map(({ check, state }) => [check, state]));
  }

  it('should find nothing wrong if all is well, and say what it has looked at', async () => {
    await issueToken(database, { expires: '90 days' });
    const findings = await examine({ LOG_LEVEL: 'warn' });
    expect(troubles(findings)).toEqual({});
    expect(findings.get('LOG_LEVEL')?.found).toBe('warn (environment)');
    expect(findings.get('STORAGE_TIMEOUT')?.found).toBe('5000 (default)');
    expect(findings.get('ACCESS_TOKENS')?.found).toBe('(set) (environment)');
    expect(findings.get('version')?.found).toMatch(/^PostgreSQL \d+/);
    expect(findings.get('clock')?.found).toMatch(/^\d+ ms (ahead of|behind) this machine, give or take \d+ ms$/);
    expect(findings.get('tokens')?.found).toBe('1 issued ones may create plants, and 1 static ones');
    expect([...findings.keys()].slice(0, 23)).toEqual([
      'PORT is free',
      'MANAGEMENT_PORT is free',
      'descriptors',
      'secret files',
      'traces',
      'TLS of clients',
      'TLS of the database',
      'database',
      'version',
      'writable',
      'synchronous_commit',
      ...CARELESS,
      'connections',
      'clock',
      'pooler',
      'owners',
      'schema',
      'crash safety',
      'migrations',
      'rights',
      'tokens',
      'NODE_ENV',
    ]);
    const [{ fsync } = { fsync: '' }] = await database.query<{ fsync: string }>('SHOW fsync');
    expect(findings.get('fsync')).toMatchObject({ state: fsync === 'on' ? 'ok' : 'fault', found: fsync });
  });

  it('should print a table for people', async () => {
    const variables = { ...serviceVariables(database.url), PORT: 'many', ACCES_TOKENS: 'x' };
    const { stdout } = await outcomeOfCommandLine('doctor', variables);
    const lines = stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('fault     PORT '));
    expect(lines[at]).toMatch(/^fault {5}PORT {3,}is "many", should be a whole number from 0 to 65535$/);
    expect(lines[at + 1]).toMatch(/^ +→ Correct this variable\.$/);
    expect(stdout).toMatch(
      /^warning {3}variables +ACCES_TOKENS: is no variable .* should be ACCESS_TOKENS if that is meant$/m,
    );
    expect(stdout).toMatch(/^ok {8}DATABASE_URL +\S+ at .* \(environment\)$/m);
    expect(stdout).not.toMatch(/\(default\)$/m);
    expect((await outcomeOfCommandLine('doctor --verbose', variables)).stdout).toMatch(
      /^ok {8}LOG_LEVEL +info \(default\)$/m,
    );
  });

  it('should list all faults of the configuration at once, and check the rest', async () => {
    const findings = await examine({
      PORT: 'many',
      BODY_LIMIT: '1mb',
      ACCESS_TOKENS: PASSWORD,
      ACCES_TOKENS: 'x',
    });
    expect(troubles(findings)).toEqual({
      PORT: 'fault',
      BODY_LIMIT: 'fault',
      ACCESS_TOKENS: 'fault',
      variables: 'warning',
      ports: 'warning',
    });
    expect(findings.get('ports')).toMatchObject({
      found: 'not checked',
      advice: expect.stringContaining('Correct PORT,') as unknown,
    });
    expect(findings.get('migrations')?.state).toBe('ok');
  });

  it('should not check a database whose URL cannot be read', async () => {
    const findings = await examine({ DATABASE_URL: '', DATABASE_URL_FILE: join(folder, 'missing') });
    expect(troubles(findings)).toMatchObject({ DATABASE_URL: 'fault', database: 'warning' });
    expect(findings.get('DATABASE_URL')?.found).toMatch(/^DATABASE_URL_FILE: cannot read ".*missing" \(ENOENT\)/);
  });

  it('should say which rights the role lacks', async () => {
    const role = `gardener_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await database.query(
      `GRANT SELECT ON _prisma_migrations, access_tokens TO ${role}; GRANT SELECT ON plants TO ${role}`,
    );
    try {
      const url = new URL(database.url);
      url.username = role;
      url.password = PASSWORD;
      const findings = await examine({ DATABASE_URL: url.href });
      expect(troubles(findings)).toEqual({ rights: 'fault' });
      // All of them, in one round.
      expect(findings.get('rights')?.found).toContain(`GRANT INSERT ON public.plants TO ${role}`);
      expect(findings.get('rights')?.found).toContain(`GRANT INSERT, UPDATE ON public.access_tokens TO ${role}`);
      expect(findings.get('rights')?.advice).toMatch(/^Run plant-store migrate as the owner/);

      await database.query(`GRANT INSERT ON plants TO ${role}`);
      const others = await examine({ DATABASE_URL: url.href });
      expect(troubles(others)).toEqual({ rights: 'warning' });
      expect(others.get('rights')?.found).toContain(`ON public.access_tokens TO ${role}`);

      // What it says is enough, for new tokens too.
      const [grants = ''] = /GRANT.*/.exec(others.get('rights')?.found ?? '') ?? [];
      expect(grants).toContain(`GRANT USAGE ON SEQUENCE public.access_tokens_id_seq TO ${role}`);
      await database.query(grants);
      expect(troubles(await examine({ DATABASE_URL: url.href }))).toEqual({});
      const created = await outcomeOfCommandLine('token create shop', { DATABASE_URL: url.href });
      expect([created.code, created.stdout]).toEqual([0, expect.stringMatching(/^plant_/)]);

      await database.query(`REVOKE SELECT ON access_tokens FROM ${role}`);
      expect(troubles(await examine({ DATABASE_URL: url.href }))).toEqual({ rights: 'warning', tokens: 'fault' });
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('should name all rights at once that a role lacks, if it has none', async () => {
    const role = `gardener_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'; REVOKE USAGE ON SCHEMA public FROM PUBLIC`);
    try {
      const url = new URL(database.url);
      url.username = role;
      url.password = PASSWORD;
      const findings = await examine({ DATABASE_URL: url.href });
      expect(troubles(findings)).toEqual({ migrations: 'warning', rights: 'fault' });
      const { found = '', advice = '' } = findings.get('rights') ?? {};
      expect(advice).toMatch(/^Run plant-store migrate as the owner/);
      expect(findings.get('migrations')?.found).toBe('not checked');
      await database.query(found.slice(found.indexOf('GRANT')));
      expect(troubles(await examine({ DATABASE_URL: url.href }))).toEqual({});
      // A sequence of others, and a right that is enough for ours.
      await database.query(`CREATE SEQUENCE plants_id_seq; REVOKE USAGE ON SEQUENCE access_tokens_id_seq FROM ${role};
        GRANT UPDATE ON SEQUENCE access_tokens_id_seq TO ${role}`);
      expect(troubles(await examine({ DATABASE_URL: url.href }))).toEqual({});
      await database.query('DROP SEQUENCE plants_id_seq');
    } finally {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('should say which tables belong to roles that cannot be trusted, and who may create in the schema', async () => {
    const role = `the "stranger" ${randomBytes(4).toString('hex')}`;
    const quoted = `"${role.replaceAll('"', '""')}"`;
    const member = `member_${randomBytes(4).toString('hex')}`;
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`CREATE ROLE ${quoted} LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE ${member};
      ALTER TABLE plants OWNER TO ${quoted}; GRANT CREATE ON SCHEMA public TO PUBLIC, ${quoted}, ${member}`);
    try {
      const findings = await examine();
      expect(troubles(findings)).toEqual({ owners: 'warning', schema: 'warning' });
      expect(findings.get('owners')?.found).toContain(`table public.plants: "${role.replaceAll('"', '""')}". `);
      const advice = findings.get('schema')?.advice ?? '';
      for (const grantee of ['PUBLIC', quoted, member])
        expect(advice).toContain(`REVOKE CREATE ON SCHEMA public FROM ${grantee}`);

      const trusting = await outcomeOfCommandLine(['doctor', '--json', '--trust-owner', role], {
        ...serviceVariables(database.url),
      });
      expect(JSON.parse(trusting.stdout)).toContainEqual(expect.objectContaining({ check: 'owners', state: 'ok' }));

      // What it says is enough.
      await database.query(`ALTER TABLE plants OWNER TO CURRENT_USER; ${advice.slice(advice.indexOf('REVOKE'), -1)}`);
      expect(troubles(await examine())).toEqual({});

      // With two roles, as the documents have it: the owner, and perhaps its members, may create, and the other one serves.
      await database.query(`ALTER DATABASE "${name}" OWNER TO ${member};
        ALTER TABLE plants OWNER TO ${member}; ALTER TABLE access_tokens OWNER TO ${member};
        ALTER TABLE _prisma_migrations OWNER TO ${member}; GRANT CREATE ON SCHEMA public TO ${member};
        GRANT SELECT, INSERT, UPDATE, DELETE ON plants, access_tokens, _prisma_migrations TO ${quoted};
        GRANT USAGE ON SEQUENCE access_tokens_id_seq TO ${quoted}`);
      const url = new URL(database.url);
      url.username = encodeURIComponent(role);
      url.password = PASSWORD;
      expect(troubles(await examine({ DATABASE_URL: url.href }))).toEqual({});
    } finally {
      await database.query(`ALTER DATABASE "${name}" OWNER TO CURRENT_USER; DROP OWNED BY ${quoted}, ${member}`);
      await database.query(`DROP ROLE ${quoted}, ${member}`);
    }
  });

  it('should say which tables a crash would empty', async () => {
    await database.query('ALTER TABLE access_tokens SET UNLOGGED');
    const findings = await examine();
    expect(troubles(findings)).toEqual({ 'crash safety': 'fault' });
    expect(findings.get('crash safety')?.found).toMatch(/Run ALTER TABLE public.access_tokens SET LOGGED$/);
  });

  it('should say that the database is read-only', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" SET default_transaction_read_only TO on`);
    const findings = await examine();
    expect(troubles(findings)).toEqual({ writable: 'fault' });
  });

  it('should say that the database is not migrated, and leave it so', async () => {
    const bare = await createTestDatabase({ migrated: false });
    const findings = await examine({ DATABASE_URL: bare.url });
    expect(troubles(findings)).toEqual({ migrations: 'fault' });
    expect(findings.get('migrations')?.found).toContain('Run `plant-store migrate`');
    expect(await bare.query("SELECT FROM pg_class WHERE relname = 'plants'")).toEqual([]);
    await bare.drop();
  });

  it.each([
    ['a database that does not exist', (url: URL) => (url.pathname = '/no_such'), 'Create the database'],
    [
      'a role that may not log in',
      (url: URL) => ((url.username = 'nobody'), (url.password = PASSWORD)),
      'Correct the user',
    ],
    ['a server that is not there', (url: URL) => (url.port = '1'), 'Start PostgreSQL'],
  ])('should say what to do about %s', async (_, spoil, advice) => {
    const url = new URL(database.url);
    spoil(url);
    const findings = await examine({ DATABASE_URL: url.href });
    expect(troubles(findings)).toEqual({ database: 'fault' });
    expect(findings.get('database')?.found).toContain('cannot connect to database');
    expect(findings.get('database')?.advice).toContain(advice);
  });

  it('should say whether any token is valid, and which end soon', async () => {
    const production = { ACCESS_TOKENS: '', NODE_ENV: 'production' };
    await issueToken(database, { name: 'gone', expires: '-1 second' });
    await issueToken(database, { name: 'other', scopes: ['plants:water'] });
    expect(troubles(await examine(production))).toEqual({ tokens: 'fault' });
    expect(
      troubles(await examine({ ...production, JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'plants' })),
    ).toEqual({});

    await issueToken(database, { name: 'shop', expires: '13 days' });
    const findings = await examine(production);
    expect(troubles(findings)).toEqual({ tokens: 'warning' });
    expect(findings.get('tokens')?.found).toMatch(/^1 issued ones may create plants; shop ends at 20.*Z$/);

    await issueToken(database, { name: 'shop', expires: '15 days' });
    expect(troubles(await examine(production))).toEqual({});
  });

  it('should say that a port is taken, unless a plant store is running there', async () => {
    const taken = await TakenPort.take();
    const findings = await examine({ PORT: String(taken.number) });
    taken[Symbol.dispose]();
    expect(troubles(findings)).toEqual({ 'PORT is free': 'fault' });
    expect(findings.get('PORT is free')?.found).toMatch(/^\d+ on ".*" is taken by another program/);

    const ports = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
    const store = await startStoreOn(database, ports);
    const beside = await examine(ports);
    await store.stop();
    expect(troubles(beside)).toEqual({});
    expect(beside.get('PORT is free')?.found).toMatch(/^no, plant store \d+\.\d+\.\d+ is running$/);
    expect((await examine(ports)).get('PORT is free')?.found).toBe('yes');
  });

  it('should say which file with a secret is open to other users', async () => {
    const file = join(folder, 'tokens');
    await writeFile(file, TOKEN, { mode: 0o600 });
    const variables = { ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: file };
    expect(troubles(await examine(variables))).toEqual({});
    // Containers and Kubernetes give secrets to the service by its group.
    await chmod(file, 0o640);
    expect(troubles(await examine(variables))).toEqual({});
    await chmod(file, 0o660);
    expect(troubles(await examine(variables))).toEqual({ 'secret files': 'warning' });
    await chmod(file, 0o644);
    const findings = await examine(variables);
    expect(troubles(findings)).toEqual({ 'secret files': 'warning' });
    expect(findings.get('secret files')?.found).toContain(`${file} (mode 644)`);
    expect(findings.get('ACCESS_TOKENS')?.found).toBe(`(set) (ACCESS_TOKENS_FILE (${file}))`);
  });

  it.each([
    [{ HOST: '0.0.0.0' }, { 'TLS of clients': 'warning' }],
    [{ HOST: '::' }, { 'TLS of clients': 'warning' }],
    [{ HOST: '0.0.0.0', TRUST_PROXY: '1' }, {}],
    [{ HOST: 'localhost' }, {}],
    // The operator has said that nobody comes through a proxy.
    [{ HOST: '0.0.0.0', TRUST_PROXY: '0' }, {}],
  ])('should judge whether clients of %j need TLS', async (variables: Record<string, string>, expected) => {
    expect(troubles(await examine(variables))).toEqual(expected);
  });

  it.each([
    ['', 'warning'],
    ['?sslmode=disable', 'warning'],
    ['?sslmode=verify-full', undefined],
    ['?host=/var/run/postgresql', undefined],
  ])('should judge whether a database on another machine with %s has TLS', async (parameters, state) => {
    // Nobody is called by that name.
    const findings = await examine({ DATABASE_URL: `postgresql://gardener@db.invalid/plants${parameters}` });
    expect(troubles(findings)['TLS of the database']).toBe(state);
  });

  it('should say that the descriptors are too few, in a process of its own', async () => {
    const run = new PlantStoreProcess(['doctor', '--json'], {
      variables: serviceVariables(database.url),
      descriptors: 512,
    });
    await run.ended;
    expect(JSON.parse(run.stdout)).toContainEqual(
      expect.objectContaining({
        check: 'descriptors',
        state: 'warning',
        found: expect.stringMatching(/^MAX_CONNECTIONS is lowered/) as unknown,
      }),
    );
  });

  it('should make nothing if nothing was ever started', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'plant-store-doctor-'));
    const run = await PlantStoreProcess.run(
      'doctor',
      { PORT: '0', MANAGEMENT_PORT: '0', HOST: '127.0.0.1' },
      { cwd: empty },
    );
    expect([run.stderr, await run.ended]).toEqual(['', 0]);
    expect(run.stdout).toMatch(/^ok +database +the first start makes one in .*\.data$/m);
    expect(await readdir(empty)).toEqual([]);
    await rm(empty, { recursive: true });
  });
});
