import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type DatabaseOptions, MigrationError, Migrator } from '../../src/index.js';
import { createTestDatabase, endPool, type TestDatabase } from '../support/database/test-database.js';
import { Guest } from '../support/host/guest.js';

const SCHEMA = `the "green" ones`;

describe('a role without all rights', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let url: URL;
  const role = `the "gardener's" ${randomBytes(4).toString('hex')}`;
  const quoted = pg.escapeIdentifier(role);

  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
    await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
    await database.query(`CREATE ROLE ${quoted} LOGIN PASSWORD 'secret'`);
    url = new URL(database.url);
    url.username = encodeURIComponent(role);
    url.password = 'secret';
    pool = new pg.Pool({ connectionString: url.href });
  });
  afterEach(async () => {
    await endPool(pool);
    await database.query(`DROP OWNED BY ${quoted}; DROP ROLE ${quoted}`);
    await database.drop();
  });

  it.each<[string, () => DatabaseOptions]>([
    ['a URL', () => ({ url: url.href, schema: SCHEMA })],
    ['a pool', () => ({ pool, schema: SCHEMA })],
  ])('should be refused at the start with %s, with the statements that grant them', async (_, options) => {
    const error: unknown = await Guest.start(options()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MigrationError);
    const { code, message } = error as MigrationError;
    expect(code).toBe('refused');
    expect(message).not.toMatch('secret');
    const statements = [
      `GRANT USAGE ON SCHEMA ${pg.escapeIdentifier(SCHEMA)} TO ${quoted}`,
      `GRANT SELECT ON ${pg.escapeIdentifier(SCHEMA)}._prisma_migrations TO ${quoted}`,
      `GRANT SELECT ON ${pg.escapeIdentifier(SCHEMA)}.plants TO ${quoted}`,
      `GRANT INSERT ON ${pg.escapeIdentifier(SCHEMA)}.plants TO ${quoted}`,
    ];
    expect(message).toMatch(`lacks rights. Run, as the owner of the tables: ${statements[0] ?? ''}; `);
    for (const statement of statements) expect(message).toContain(statement);

    // What the message says is enough.
    await database.query(message.slice(message.indexOf('GRANT')));
    const guest = await Guest.start(options());
    await guest.expectCreated(1);
    await guest.stop();
  });

  it('should be reported if one is missing, and not for columns', async () => {
    const table = `${pg.escapeIdentifier(SCHEMA)}.plants`;
    await database.query(`GRANT USAGE ON SCHEMA ${pg.escapeIdentifier(SCHEMA)} TO ${quoted};
      GRANT SELECT ON ${pg.escapeIdentifier(SCHEMA)}._prisma_migrations, ${table} TO ${quoted}`);
    await expect(Guest.start({ url: url.href, schema: SCHEMA })).rejects.toThrow(
      new RegExp(`owner of the tables: GRANT INSERT ON .*plants TO [^;]*$`),
    );
    await database.query(`GRANT INSERT (id, name) ON ${table} TO ${quoted}`);
    await (await Guest.start({ url: url.href, schema: SCHEMA })).stop();
  });
});
