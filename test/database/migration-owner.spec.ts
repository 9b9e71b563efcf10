import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';

const PASSWORD = 'a-password-of-the-tests';

describe('plant-store migrate, with MIGRATION_DATABASE_URL', () => {
  const suffix = randomBytes(4).toString('hex');
  const [owner, service] = [`plants_owner_${suffix}`, `plants "${suffix}"`];
  let database: TestDatabase;
  let variables: Record<string, string>;

  const urlAs = (role: string): string => {
    const url = new URL(database.url);
    url.username = encodeURIComponent(role);
    url.password = '';
    return url.href;
  };
  const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    for (const role of [owner, service]) {
      await database.query(`CREATE ROLE ${quote(role)} LOGIN PASSWORD '${PASSWORD}'`);
    }
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" OWNER TO ${owner}`);
    variables = {
      DATABASE_URL: urlAs(service),
      DATABASE_PASSWORD: PASSWORD,
      MIGRATION_DATABASE_URL: urlAs(owner),
      MIGRATION_DATABASE_PASSWORD: PASSWORD,
    };
  });
  afterAll(async () => {
    const others = await createTestDatabase({ migrated: false });
    await database.drop();
    for (const role of [owner, service]) await others.query(`DROP ROLE ${quote(role)}`);
    await others.drop();
  });

  const asService = (sql: string): Promise<unknown> => database.query(`SET ROLE ${quote(service)}; ${sql}`);

  it('should fail as the role of the service, which may not make tables', async () => {
    const { DATABASE_URL = '', DATABASE_PASSWORD = '' } = variables;
    expect(await outcomeOfCommandLine('migrate', { DATABASE_URL, DATABASE_PASSWORD })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /permission denied for schema public\. Run it as the owner .*MIGRATION_DATABASE_URL/,
      ),
    });
  });

  it('should migrate as the owner, many times and from many places, and name it', async () => {
    const first = await outcomeOfCommandLine('migrate', variables);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining(`as ${owner}: applied`) });
    const later = await Promise.all([1, 2, 3, 4].map(() => outcomeOfCommandLine('migrate', variables)));
    for (const { code, stdout } of later) expect([code, stdout]).toEqual([0, expect.stringContaining('up to date')]);
    expect(await database.query(`SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'`)).toEqual([
      { tableowner: owner },
    ]);
  });

  it('should let the other role serve, and make, list and revoke tokens', async () => {
    const made = await outcomeOfCommandLine('token create  gardener', variables);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('gardener')]);
    const { DATABASE_URL = '', DATABASE_PASSWORD = '' } = variables;
    const store = await startStoreOn({ ...database, url: DATABASE_URL }, { DATABASE_PASSWORD });
    const responses = [1, 1].map(() => store.post('{"id":1,"name":"Rose"}', bearer(made.stdout.trim())));
    expect((await Promise.all(responses)).map(({ status }) => status).sort()).toEqual([200, 400]);
    expect((await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status).toBe(200);
    await store.stop();
    expect(await database.query('SELECT last_used_at IS NOT NULL AS used FROM access_tokens')).toEqual([
      { used: true },
    ]);
    for (const command of ['rotate gardener', 'revoke gardener', 'list']) {
      expect(await outcomeOfCommandLine(`token ${command}`, variables)).toMatchObject({ code: 0 });
    }
  });

  it.each([
    'DROP TABLE plants',
    'TRUNCATE plants',
    'DELETE FROM plants',
    `UPDATE plants SET name = ''`,
    'ALTER TABLE plants ADD COLUMN height integer',
    'CREATE TABLE leaves (id bigint)',
    'DELETE FROM _prisma_migrations',
    'INSERT INTO _prisma_migrations SELECT FROM _prisma_migrations',
    `SELECT setval('access_tokens_id_seq', 1)`,
  ])('should not let it do more: %s', async (sql) => {
    await expect(asService(sql)).rejects.toThrow(/permission denied|must be owner/);
  });

  it('should grant nothing to a role that is not there, as a pooler may have names of its own', async () => {
    const DATABASE_URL = urlAs('plants.tenant');
    expect(await outcomeOfCommandLine('migrate', { ...variables, DATABASE_URL })).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  it('should keep to the schema of the option, or else of DATABASE_URL', async () => {
    expect(await outcomeOfCommandLine('migrate --schema garden', variables)).toMatchObject({ code: 0, stderr: '' });
    await asService(`INSERT INTO garden.plants (id, name) VALUES (1, 'Rose')`);
    await expect(asService('CREATE TABLE garden.leaves (id bigint)')).rejects.toThrow('permission denied');
    const house = new URL(urlAs(service));
    house.searchParams.set('schema', 'house');
    const own = { ...variables, DATABASE_URL: house.href };
    expect(await outcomeOfCommandLine('migrate', own)).toMatchObject({ code: 0, stderr: '' });
    await asService(`INSERT INTO house.plants (id, name) VALUES (1, 'Rose')`);
  });

  it('should show neither password if it cannot log in', async () => {
    const wrong = { ...variables, MIGRATION_DATABASE_URL: urlAs('nobody_has_this_name') };
    const { code, stderr } = await outcomeOfCommandLine('migrate', wrong);
    expect([code, stderr]).toEqual([1, expect.stringContaining('as nobody_has_this_name')]);
    expect(stderr).not.toContain(PASSWORD);
  });
});
