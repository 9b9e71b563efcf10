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

  /** The description names what pg uses. */
  function expectTold(url: string, description: string): void {
    const parsed = parseDatabaseUrl(url);
    expect(parsed.description).toBe(description);
    const { host, port, database, user } = clientOf(url);
    const known = parsed.user === '' ? '' : ` as ${user}`;
    expect(`${database} at ${host.includes(':') ? `[${host}]` : host}:${port}${known}`).toBe(description);
  }

  const PARAMETERS = 'host=b&port=8&dbname=my%20plants&user=gardener';
  const AROUND = { PGHOST: '::1', PGUSER: 'gardener', PGDATABASE: 'garden', PGPORT: '6' };

  it.each<[what: string, url: string, told: string, variables?: Record<string, string>]>([
    ['all of it', 'postgresql://gardener:s@db.example:6543/plants', 'plants at db.example:6543 as gardener'],
    ['parameters first', `postgresql://a:7/other?${PARAMETERS}`, 'my plants at b:8 as gardener'],
    ['an IPv6 address', 'postgresql://[::1]/green plants', 'green plants at [::1]:5432'],
    ['an @ in a user', 'postgresql://gardener@house:a:b@[::1]:1', 'gardener@house at [::1]:1 as gardener@house'],
    ['variables for all', 'postgresql://', 'garden at [::1]:6 as gardener', AROUND],
    ['the URL before variables', 'postgresql://a@b:1/c', 'c at b:1 as a', AROUND],
  ])('should read a URL as libpq does: %s', (_, url, told, around = {}) => {
    Object.assign(process.env, around);
    expectTold(url, told);
  });

  it('should take password, options and TLS from the variables of libpq, unless they are given', () => {
    // The file is only read here.
    const PGSSLROOTCERT = expect.getState().testPath;
    Object.assign(process.env, { PGPASSWORD: 'p', PGOPTIONS: '-c a=b', PGSSLMODE: 'require', PGSSLROOTCERT });
    const ca = expect.stringContaining(parseDatabaseUrl.name);
    const parse = (parameters = '', password?: string): unknown =>
      clientOf(`postgresql:///plants${parameters}`, password);
    expect(parse()).toMatchObject({ password: 'p', connectionParameters: { options: '-c a=b' }, ssl: { ca } });
    expect(parse('?sslmode=disable', 'q')).toMatchObject({ password: 'q', ssl: false });
    process.env.PGSSLMODE = 'verfy-full';
    expect(() => parse()).toThrow('an sslmode or a PGSSLMODE out of prefer, require,');
  });

  it.each([
    ['postgresql://gardener:p,w%40%2F%23%25@db/green plants', undefined, 'p,w@/#%'],
    ['postgresql://gardener@db/plants', 'p,w@/#%41?ä', 'p,w@/#%41?ä'],
  ])('should take any text for a password, encoded in %s or as it is', (url, password, expected) => {
    expect(clientOf(url, password).password).toBe(expected);
  });

  it.each([
    ['hidden', 'must be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['postgresql://gardener:sec#ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:secret@db/plants', 'password other than the one given'],
    [
      'postgresql://gardener:hidden@db:secret/plants',
      'has a wrong port, sslnegotiation, sslrootcert, sslcert or sslkey (invalid)',
    ],
    ['postgresql://db/plants?SSLMODE=verify-full', 'has the parameter SSLMODE, which is empty, repeated or none of'],
    ['postgresql://db/plants?sslrootcert=/secret', 'sslrootcert, sslcert or sslkey (ENOENT)'],
    [`postgresql://db/plants?schema=${'s'.repeat(64)}`, '1 to 63 bytes'],
    ['postgresql://db/plants?password=a&hidden', 'has a parameter, which'],
    ['postgresql://gardener:hidden@a:5433,b/plants', 'several servers: give one address that leads to the primary'],
  ])('should refuse %j, and repeat no secret', (url, message) => {
    const parse = (): unknown => parseDatabaseUrl(url, 'hidden');
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/secret|hidden|gardener/);
  });

  it('should hand to pg what is obeyed, and name what has no effect', () => {
    const parameters =
      'options=-c%20work_mem%3D8MB&query_timeout=7&statement_timeout=7&channel_binding=require&schema=green';
    const { config, ignored, schema } = parseDatabaseUrl(`postgresql://db/plants?${parameters}`);
    expect(config).toMatchObject({ options: '-c work_mem=8MB' });
    expect([schema, ignored]).toEqual(['green', ['channel_binding', 'query_timeout', 'statement_timeout']]);
    for (const name of ignored) expect(config).not.toHaveProperty(name);
  });

  it.each([
    ['sslmode=require', {}],
    ['sslmode=no-verify', { rejectUnauthorized: false }],
    ['sslmode=require&uselibpqcompat=true', { rejectUnauthorized: false }],
  ])('should verify the server unless %s says otherwise, without a warning', (parameters, ssl) => {
    const warn = jest.spyOn(process, 'emitWarning');
    expect(clientOf(`postgresql://db/plants?${parameters}`)).toHaveProperty('ssl', ssl);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});
