import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { parseDatabaseUrl } from './database-url.js';

describe(parseDatabaseUrl.name, () => {
  let variables: jest.Replaced<NodeJS.ProcessEnv>;
  beforeEach(() => {
    variables = jest.replaceProperty(process, 'env', {});
    // That of USER.
    Reflect.deleteProperty(pg.defaults, 'user');
  });
  afterEach(() => {
    variables.restore();
  });

  /** What pg makes of it. */
  const clientOf = (url: string, password?: string): pg.Client => new pg.Client(parseDatabaseUrl(url, password).config);

  it.each([
    ['postgresql://gardener:s@db.example:6543/plants', 'plants at db.example:6543 as gardener'],
    // The user is the database if none is named.
    ['postgres://gardener@db?sslmode=disable', 'gardener at db:5432 as gardener'],
    // A local server, as for libpq.
    ['postgresql://:5433/plants', 'plants at localhost:5433'],
    ['postgresql://gardener:s@%2Frun%2Fpostgresql/plants', 'plants at /run/postgresql:5432 as gardener'],
    // The parameters count before the rest of the URL.
    ['postgresql://a:7/other?host=b&port=8&dbname=my%20plants&user=gardener', 'my plants at b:8 as gardener'],
    ['postgresql://[::1]/green plants?application_name=a%2Fb', 'green plants at [::1]:5432'],
    // The name of a user may have an @, a password a colon.
    ['postgresql://gardener@house:a:b@[::1]:1', 'gardener@house at [::1]:1 as gardener@house'],
  ])('should read %s as libpq does', (url, description) => {
    expectTold(url, description);
  });

  /** The description names what pg uses. */
  function expectTold(url: string, description: string): void {
    const parsed = parseDatabaseUrl(url);
    expect(parsed.description).toBe(description);
    const { host, port, database, user } = clientOf(url);
    const known = parsed.user === '' ? '' : ` as ${user}`;
    expect(`${database} at ${host.includes(':') ? `[${host}]` : host}:${port}${known}`).toBe(description);
  }

  it.each<[string, Record<string, string>, string]>([
    ['postgresql:///plants', { PGHOST: '/run/postgresql', PGPORT: '6' }, 'plants at /run/postgresql:6'],
    ['postgresql://', { PGHOST: '::1', PGUSER: 'gardener', PGDATABASE: 'garden' }, 'garden at [::1]:5432 as gardener'],
    ['postgresql://db', { PGHOST: 'other', PGUSER: 'gardener', PGPORT: '' }, 'gardener at db:5432 as gardener'],
    ['postgresql://a@b:1/c', { PGHOST: 'd', PGUSER: 'd', PGDATABASE: 'd', PGPORT: '2' }, 'c at b:1 as a'],
  ])('should complete %s from %j, as libpq does', (url, given, description) => {
    Object.assign(process.env, given);
    expectTold(url, description);
  });

  it('should name the user that pg takes from USER, if nothing else names one', () => {
    pg.defaults.user = 'gardener';
    expectTold('postgresql://db', 'gardener at db:5432 as gardener');
    expectTold('postgresql://house@db', 'house at db:5432 as house');
  });

  it('should take password, options and TLS from the variables of libpq, unless they are given', () => {
    // The file is only read here.
    const PGSSLROOTCERT = expect.getState().testPath;
    Object.assign(process.env, { PGPASSWORD: 'p', PGOPTIONS: '-c a=b', PGSSLMODE: 'require', PGSSLROOTCERT });
    const ca = expect.stringContaining(parseDatabaseUrl.name);
    const parse = (parameters = '', password?: string): unknown =>
      parseDatabaseUrl(`postgresql:///plants${parameters}`, password).config;
    expect(parse()).toMatchObject({ password: 'p', options: '-c a=b', ssl: { ca } });
    expect(parse('?sslmode=disable', 'q')).toMatchObject({ password: 'q', ssl: false });
    process.env.PGSSLMODE = 'verfy-full';
    expect(() => parse()).toThrow('an sslmode or a PGSSLMODE out of disable, prefer,');
    process.env.PGSSLROOTCERT = 'system';
    expect(() => parse('?sslmode=require')).toThrow(
      '(ENOENT): without an sslrootcert, such as system, the authorities',
    );
  });

  it.each([
    ['postgresql://gardener:p,w%40%2F%23%25@db/green plants', undefined, 'p,w@/#%'],
    ['postgresql://gardener@db/plants', 'p,w@/#%41?ä', 'p,w@/#%41?ä'],
    ['postgresql://gardener:a%40b@db/plants', 'a@b', 'a@b'],
  ])('should take any text for a password, encoded in %s or as it is', (url, password, expected) => {
    expect(clientOf(url, password).password).toBe(expected);
  });

  it.each([
    ['hidden', 'must be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['postgresql://gardener:sec#ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:100%secret@db/plants', '(% is %25)'],
    ['postgresql://gardener:secret@db/plants', 'password other than the one given'],
    ['postgresql://gardener:hidden@db:99999/plants', 'must have a port or a PGPORT from 1 to 65535'],
    ['postgresql://gardener:secret/a', 'must have a port'],
    ['postgresql://db/plants?password=100%secret', '(% is %25)'],
    ['postgresql://db/plants?port=0', 'must have a port'],
    ['postgresql://db/plants?sslmode=secret', 'an sslmode or a PGSSLMODE out of disable, prefer, require'],
    ['postgresql://db/plants?sslnegotiation=secret', 'an sslnegotiation or a PGSSLNEGOTIATION out of postgres, direct'],
    [
      'postgresql://db/plants?sslrootcert=/secret/nowhere',
      'sslrootcert, sslcert or sslkey that cannot be read (ENOENT)',
    ],
    ['postgresql://db/plants?sslmode=verify-ca&uselibpqcompat=true', 'sslmode=verify-ca without an sslrootcert'],
    [`postgresql://db/plants?schema=${'s'.repeat(64)}`, '1 to 63 bytes'],
    // Of an unset variable, perhaps.
    ['postgresql://db/plants?sslmode=', 'has the parameter sslmode, which is empty'],
    ['postgresql://db/plants?sslmode=disable&sslmode=verify-full', 'has the parameter sslmode, which'],
    ['postgresql://db/plants?schema=', 'has the parameter schema, which is empty'],
    [
      'postgresql://db/plants?sslmod=secret',
      'has the parameter sslmod, which is empty, repeated or none of application_name, dbname, ',
    ],
    // pg would take these for its own options.
    ['postgresql://db/plants?max=3', 'has the parameter max,'],
    ['postgresql://db/plants?constructor=secret', 'has the parameter constructor,'],
    ['postgresql://db/plants?__proto__=secret', 'has the parameter __proto__,'],
    // A demand that would not be met. So is another way to ask for TLS.
    ['postgresql://db/plants?require_auth=secret', 'has the parameter require_auth,'],
    ['postgresql://db/plants?ssl=no-verify', 'has the parameter ssl,'],
    ['postgresql://db/plants?password=a&hidden', 'has a parameter, which'],
    ['postgresql://db/plants?password=a&hidden=b', 'has a parameter, which'],
    ['postgresql://gardener:hidden@a:5433,b/plants', 'several servers: give one address that leads to the primary'],
    ['postgresql://a,b/plants', 'names several servers'],
    ['postgresql:///plants?host=a&port=1,2', 'names several servers'],
    ['postgresql://a/plants?target_session_attrs=any', 'has the parameter target_session_attrs,'],
  ])('should refuse %j, and repeat no secret', (url, message) => {
    const parse = (): unknown => parseDatabaseUrl(url, 'hidden');
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/secret|hidden|gardener/);
  });

  it('should hand to pg what is obeyed, and name what has no effect', () => {
    const parameters = 'options=-c%20work_mem%3D8MB&lock_timeout=7&connection_limit=5&statement_timeout=7&schema=green';
    const { config, ignored, schema } = parseDatabaseUrl(`postgresql://db/plants?${parameters}`);
    expect(config).toMatchObject({ options: '-c work_mem=8MB' });
    for (const name of ['lock_timeout', 'connection_limit', 'statement_timeout'])
      expect(config).not.toHaveProperty(name);
    expect([schema, ignored]).toEqual(['green', ['connection_limit', 'lock_timeout', 'statement_timeout']]);
  });

  it.each([
    ['sslmode=prefer', {}],
    ['sslmode=require', {}],
    ['sslmode=verify-ca', {}],
    ['sslmode=no-verify', { rejectUnauthorized: false }],
    ['sslmode=disable', false],
    ['sslmode=require&uselibpqcompat=true', { rejectUnauthorized: false }],
  ])('should verify the server unless %s says otherwise, without a warning', (parameters, ssl) => {
    const warn = jest.spyOn(process, 'emitWarning');
    expect(clientOf(`postgresql://db/plants?${parameters}`)).toHaveProperty('ssl', ssl);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});
