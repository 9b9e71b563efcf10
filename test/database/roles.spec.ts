import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { startStoreOn } from '../support/service/store.js';
import { bearer } from '../support/tokens/issued-token.js';

const PASSWORD = 'a-password-of-the-tests';

describe('A database with one role that owns the tables and another one for the service', () => {
  const suffix = randomBytes(4).toString('hex');
  const [owner, service] = [`plants_owner_${suffix}`, `the "gardener's" ${suffix}`];
  const quoted = pg.escapeIdentifier(service);
  let database: TestDatabase;
  let alone: Record<string, string>;
  let both: Record<string, string>;

  const urlAs = (role: string, schema = 'public'): string => {
    const url = new URL(database.url);
    url.username = encodeURIComponent(role);
    url.password = '';
    url.searchParams.set('schema', schema);
    return url.href;
  };
  const asService = (sql: string): Promise<unknown> => database.query(`SET ROLE ${quoted}; ${sql}`);
  const migrate = (variables = both, options = '') => outcomeOfCommandLine(`migrate ${options}`, variables);

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`CREATE ROLE ${owner} LOGIN PASSWORD '${PASSWORD}'; CREATE ROLE ${quoted} LOGIN PASSWORD '${PASSWORD}';
      ALTER DATABASE "${name}" OWNER TO ${owner}`);
    alone = { DATABASE_URL: urlAs(service), DATABASE_PASSWORD: PASSWORD };
    both = { ...alone, MIGRATION_DATABASE_URL: urlAs(owner), MIGRATION_DATABASE_PASSWORD: PASSWORD };
  });
  afterAll(async () => {
    const others = await createTestDatabase({ migrated: false });
    await database.drop();
    await others.query(`DROP ROLE ${owner}; DROP ROLE ${quoted}`);
    await others.drop();
  });

  it('should be migrated by the owner, and not by the service', async () => {
    const refusal = /permission denied for schema public\. Run it as the owner .*MIGRATION_DATABASE_URL/;
    expect(await migrate(alone)).toMatchObject({ code: 1, stderr: expect.stringMatching(refusal) });
    expect(await migrate()).toMatchObject({ code: 0, stdout: expect.stringContaining(`as ${owner}: applied`) });
    const owners = `SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'`;
    expect(await database.query(owners)).toEqual([{ tableowner: owner }]);
  });

  it('should be used by the service, which also makes, lists, rotates and revokes tokens', async () => {
    const { stdout } = await outcomeOfCommandLine('token create gardener', both);
    const store = await startStoreOn({ ...database, url: urlAs(service) }, { DATABASE_PASSWORD: PASSWORD });
    const plants = [1, 1].map(() => store.post('{"id":1,"name":"Rose"}', bearer(stdout.trim())));
    expect((await Promise.all(plants)).map(({ status }) => status).sort()).toEqual([200, 400]);
    expect((await fetch(`http://127.0.0.1:${store.managementPort}/readyz`)).status).toBe(200);
    await store.stop();
    expect(await database.query('SELECT FROM access_tokens WHERE last_used_at IS NOT NULL')).toHaveLength(1);
    for (const command of ['rotate gardener', 'revoke gardener', 'list'])
      expect(await outcomeOfCommandLine(`token ${command}`, both)).toMatchObject({ code: 0 });
  });

  it.each([
    'DROP TABLE plants',
    'TRUNCATE plants',
    'DELETE FROM plants',
    `UPDATE plants SET name = ''`,
    'ALTER TABLE plants ADD COLUMN height integer',
    'CREATE TABLE leaves (id bigint)',
    'INSERT INTO _prisma_migrations SELECT FROM _prisma_migrations',
    `SELECT setval('access_tokens_id_seq', 1)`,
  ])('should not let the service do more: %s', async (sql) => {
    await expect(asService(sql)).rejects.toThrow(/permission denied|must be owner/);
  });

  it('should have the rights of the service again after each run, and in each schema', async () => {
    await database.query(`REVOKE ALL ON plants FROM ${quoted}`);
    const others = [both, { ...both, DATABASE_URL: urlAs(service, 'house') }, both];
    for (const [index, options] of ['', '', '--schema garden'].entries())
      expect(await migrate(others[index], options)).toMatchObject({ code: 0, stderr: '' });
    for (const schema of ['public', 'house', 'garden'])
      await asService(`INSERT INTO ${schema}.plants (id, name) VALUES (2, 'Rose')`);
    await expect(asService('CREATE TABLE garden.leaves (id bigint)')).rejects.toThrow('permission denied');
    // A pooler may have names of its own.
    expect(await migrate({ ...both, DATABASE_URL: urlAs('plants.tenant') })).toMatchObject({ code: 0, stderr: '' });
  });
});
