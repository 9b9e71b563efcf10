import { describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { faultsOf as faultsOfError } from '../../test/support/http/refusal.js';
import { checkOptions } from '../util/options.js';
import { parseDatabaseUrl } from './database-url.js';
import { DatabaseOption } from './database.options.js';

/** What pg makes of it. */
function clientOf(...parameters: Parameters<typeof parseDatabaseUrl>): pg.Client {
  return new pg.Client(parseDatabaseUrl(...parameters).config);
}

describe(parseDatabaseUrl.name, () => {
  it.each([
    ['postgresql://gardener:s@db.example:6543/plants', 'plants at db.example:6543 as gardener'],
    // The user is the database if none is named.
    ['postgres://gardener@db?sslmode=disable', 'gardener at db:5432 as gardener'],
    // A local server, as for libpq.
    ['postgresql:///plants', 'plants at localhost:5432'],
    ['postgresql://:5433/plants', 'plants at localhost:5433'],
    ['postgresql://gardener:s@/plants?host=/run/postgresql', 'plants at /run/postgresql:5432 as gardener'],
    ['postgresql://gardener:s@%2Frun%2Fpostgresql/plants', 'plants at /run/postgresql:5432 as gardener'],
    // The parameters count before the rest of the URL.
    ['postgresql://a:7/other?host=b&port=8&dbname=my%20plants&user=gardener', 'my plants at b:8 as gardener'],
    ['postgresql://[::1]/green plants?application_name=a%2Fb', 'green plants at [::1]:5432'],
  ])('should read %s as libpq does', (url, description) => {
    expect(parseDatabaseUrl(url).description).toBe(description);
    const { host, port, database, user } = clientOf(url);
    const known = description.includes(' as ') ? ` as ${user}` : '';
    expect(`${database} at ${host.includes(':') ? `[${host}]` : host}:${port}${known}`).toBe(description);
  });

  it.each([
    ['postgresql://gardener:p,w%40%2F%23%25@db/green plants', undefined, 'p,w@/#%'],
    ['postgresql://gardener@db/plants', 'p,w@/#%41?ä', 'p,w@/#%41?ä'],
    ['postgresql://gardener@db/plants?password=a%2Bb', undefined, 'a+b'],
    ['postgresql://gardener:a%40b@db/plants', 'a@b', 'a@b'],
  ])('should take any text for a password, encoded in %s or as it is', (url, password, expected) => {
    expect(clientOf(url, password).password).toBe(expected);
  });

  it.each([
    ['hidden', 'must be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['mysql://gardener:secret@db/plants', 'must be a PostgreSQL URL'],
    ['postgresql://gardener:secret@db:99999/plants', 'must be a PostgreSQL URL'],
    ['postgresql://db/plants?port=99999', 'must have a port from 1 to 65535'],
    ['postgresql://gardener:sec#ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:100%secret@db/plants', '(% is %25)'],
    ['postgresql://gardener:secret@db/plants', 'password other than the one given'],
    ['postgresql://db/plants?sslmode=secret', 'sslmode out of disable, prefer, require'],
    ['postgresql://db/plants?sslrootcert=/secret/nowhere', 'names a certificate or a key that cannot be read (ENOENT)'],
    [`postgresql://db/plants?schema=${'s'.repeat(64)}`, '1 to 63 bytes'],
    ['postgresql://db/plants?schema=$user', 'must not be $user'],
    ['postgresql://db/plants?sslmod=secret', 'has the parameter sslmod that neither PostgreSQL nor Prisma knows'],
    ['postgresql://db/plants?max=3', 'has the parameter max that neither PostgreSQL nor Prisma knows'],
    ['postgresql://db/plants?password=a&hidden', 'has a parameter that neither'],
    [
      'postgresql://gardener:secret@a:5433,b/plants',
      'names several servers: give one address that leads to the primary',
    ],
    ['postgresql:///plants?host=a&port=1,2', 'names several servers'],
    ['postgresql://a/plants?target_session_attrs=any', 'has the parameter target_session_attrs'],
  ])('should refuse %j, and repeat no secret', (url, message) => {
    const parse = (): unknown => parseDatabaseUrl(url, 'hidden');
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/secret|hidden|gardener/);
  });

  it('should hand to pg what pg obeys, and name what has no effect', () => {
    const url =
      'postgresql://db/plants?application_name=a&options=-c%20work_mem%3D8MB&lock_timeout=7&connection_limit=5&statement_timeout=7&sslcrl=secret';
    const { config, ignored, schema } = parseDatabaseUrl(`${url}&schema=green`);
    expect(config).toMatchObject({ application_name: 'a', options: '-c work_mem=8MB', lock_timeout: '7' });
    expect(Object.keys(config)).not.toContain('statement_timeout');
    expect(ignored).toEqual(['connection_limit', 'sslcrl', 'statement_timeout']);
    expect([schema, parseDatabaseUrl(url).schema, parseDatabaseUrl(url, '', 'red').schema]).toEqual([
      'green',
      'public',
      'red',
    ]);
  });

  it.each([
    ['prefer', {}],
    ['require', {}],
    ['verify-ca', {}],
    ['verify-full', {}],
    ['no-verify', { rejectUnauthorized: false }],
    ['disable', false],
    ['require&uselibpqcompat=true', { rejectUnauthorized: false }],
  ])('should verify the server unless sslmode=%s says otherwise, without a warning', (mode, ssl) => {
    const warn = jest.spyOn(process, 'emitWarning');
    expect(Reflect.get(clientOf(`postgresql://db/plants?sslmode=${mode}`), 'ssl')).toEqual(ssl);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});

class Options {
  @DatabaseOption()
  database: unknown;
}

const url = 'postgresql://gardener:secret@db/plants';
const pool = new pg.Pool();
const faultsOf = (database: unknown): string[] =>
  faultsOfError('a store', () => checkOptions(Options, { database }, 'a store'));

describe(DatabaseOption.name, () => {
  it.each([
    { url: 'postgresql://gardener@db/plants', password: 'secret', schema: 'green', size: 1, timeout: 86_400_000 },
    { url, password: undefined, schema: undefined, size: undefined, timeout: undefined, pool: undefined },
    { pool: { connect: () => pool.connect() } },
  ])('should take %#', (database) => {
    expect(faultsOf(database)).toEqual([]);
  });

  it('should leave a pool the very object that it is', () => {
    const options = checkOptions(Options, { database: { pool } }, 'a store');
    expect((options.database as { pool: unknown }).pool).toBe(pool);
  });

  it.each<[unknown, ...string[]]>([
    [[url], 'database: is an array, should be { url } or { pool }'],
    [
      { url: undefined },
      'database.url: is missing, should be a PostgreSQL URL such as postgresql://user@host:5432/plants',
    ],
    [{ url: '' }, 'database.url: is empty, should be a PostgreSQL URL such as'],
    [{ url, pool }, 'database.pool: is given in addition to url, should be left out, or the url'],
    [
      { uri: url },
      'database.uri: is no option, should be one of url, password, schema, size',
      'database.url: is missing',
    ],
    [{ url, password: 5 }, 'database.password: is 5, should be a string'],
    [{ url, password: 'hidden' }, 'database.url: holds a password other than the one given separately'],
    [{ url, schema: 5 }, 'database.schema: is 5, should be the name of a schema'],
    [{ pool, schema: '' }, 'database.schema: must name a schema of 1 to 63 bytes'],
    [{ pool, size: 5 }, 'database.size: is no option'],
    [
      { pool: {}, timeout: 86_400_001 },
      'database.timeout: is 86400001',
      'database.pool: is an object, should be a Pool',
    ],
    [
      { url: 5, size: 0, timeout: 0.5 },
      'database.url: is 5',
      'database.size: is 0, should be',
      'database.timeout: is 0.5',
    ],
  ])('should tell what is wrong in %#, and no secret', (database, ...faults) => {
    const found = faultsOf(database);
    expect(found.sort()).toEqual(faults.sort().map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});
