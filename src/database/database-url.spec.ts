import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { parseDatabaseUrl } from './database-url.js';

/** What pg makes of it. */
function clientOf(...parameters: Parameters<typeof parseDatabaseUrl>): pg.Client {
  return new pg.Client(parseDatabaseUrl(...parameters).config);
}

function faultOf(...parameters: Parameters<typeof parseDatabaseUrl>): string {
  try {
    parseDatabaseUrl(...parameters);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the URL was accepted');
}

const password = fc.string({ unit: 'grapheme', minLength: 1 });

describe(parseDatabaseUrl.name, () => {
  it.each([
    ['postgresql://gardener:s@db.example:6543/plants', 'plants at db.example:6543 as gardener'],
    ['postgres://gardener:s@db.example/plants?sslmode=disable', 'plants at db.example:5432 as gardener'],
    // The user is the database if none is named.
    ['postgresql://gardener@db', 'gardener at db:5432 as gardener'],
    // A local server, as for libpq.
    ['postgresql:///plants', 'plants at localhost:5432'],
    ['postgresql://:5433/plants', 'plants at localhost:5433'],
    ['postgresql://gardener:s@/plants?host=/run/postgresql', 'plants at /run/postgresql:5432 as gardener'],
    ['postgresql://gardener:s@%2Frun%2Fpostgresql/plants', 'plants at /run/postgresql:5432 as gardener'],
    // The parameters count before the rest of the URL.
    ['postgresql://a:7/other?host=b&port=8&dbname=my%20plants&user=gardener', 'my plants at b:8 as gardener'],
    ['postgresql://[::1]/plants', 'plants at [::1]:5432'],
    ['postgresql://a/green plants?application_name=a%2Fb', 'green plants at a:5432'],
  ])('should read %s as libpq does', (url, description) => {
    expect(parseDatabaseUrl(url).description).toBe(description);
    const { host, port, database, user } = clientOf(url);
    const known = description.includes(' as ') ? ` as ${user}` : '';
    expect(`${database} at ${host.includes(':') ? `[${host}]` : host}:${port}${known}`).toBe(description);
  });

  it('should take any text for a password, encoded in the URL or as it is', () => {
    fc.assert(
      fc.property(password, (secret) => {
        expect(clientOf(`postgresql://gardener:${encodeURIComponent(secret)}@db/plants`).password).toBe(secret);
        expect(clientOf('postgresql://gardener@db/plants', secret).password).toBe(secret);
      }),
    );
    expect(clientOf('postgresql://gardener:p,w@db/green plants').password).toBe('p,w');
    expect(clientOf('postgresql://gardener@db/plants?password=a%2Bb').password).toBe('a+b');
    expect(clientOf('postgresql://gardener:a%40b@db/plants', 'a@b').password).toBe('a@b');
  });

  it.each([
    ['', 'must be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    ['hidden', 'must be a PostgreSQL URL'],
    ['mysql://gardener:secret@db/plants', 'must be a PostgreSQL URL'],
    ['postgresql:plants', 'must be a PostgreSQL URL'],
    ['postgresql://gardener:secret@db:99999/plants', 'must be a PostgreSQL URL'],
    ['postgresql://gardener:secret@db:port/plants', 'must be a PostgreSQL URL'],
    ['postgresql://gardener:sec#ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:sec/ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:sec?ret@db/plants', 'special characters percent-encoded'],
    ['postgresql://gardener:100%secret@db/plants', '(% is %25)'],
    ['postgresql://gardener:secret@db/plants', 'password other than the one given'],
    ['postgresql://db/plants?sslmode=secret', 'sslmode out of disable, prefer, require'],
    ['postgresql://db/plants?sslrootcert=/secret/nowhere', 'names a certificate or a key that cannot be read (ENOENT)'],
    ['postgresql://db/plants?port=secret', 'must have a port from 1 to 65535'],
    ['postgresql://db/plants?schema=', '1 to 63 bytes'],
    [`postgresql://db/plants?schema=${'s'.repeat(64)}`, '1 to 63 bytes'],
    ['postgresql://db/plants?schema=$user', 'must not be $user'],
    ['postgresql://db/plants?sslmod=secret', 'has the parameter sslmod that neither PostgreSQL nor Prisma knows'],
    ['postgresql://db/plants?max=3', 'has the parameter max that neither PostgreSQL nor Prisma knows'],
    ['postgresql://db/plants?password=a&hidden', 'has a parameter that neither'],
    ['postgresql://gardener:secret@a:5433,b/plants', 'names several hosts: give one address that leads to the primary'],
    ['postgresql://a,b:5433,[::1]:1/plants', 'names several hosts'],
    ['postgresql:///plants?host=a,b', 'has a list in the parameter host'],
    ['postgresql:///plants?host=a&port=1,2', 'has a list in the parameter port'],
    ['postgresql://a/plants?target_session_attrs=any', 'has the parameter target_session_attrs'],
  ])('should refuse %j, and repeat no secret', (url, message) => {
    const fault = faultOf(url, 'hidden');
    expect(fault).toContain(message);
    expect(fault).not.toMatch(/secret|hidden|gardener/);
  });

  it('should have the schema of the parameter, or the one given separately', () => {
    expect(parseDatabaseUrl('postgresql://db/plants').schema).toBe('public');
    expect(parseDatabaseUrl('postgresql://db/plants?schema=green').schema).toBe('green');
    expect(parseDatabaseUrl('postgresql://db/plants?schema=green', undefined, 'red').schema).toBe('red');
  });

  it('should hand to pg what pg obeys, and name what has no effect', () => {
    const url =
      'postgresql://db/plants?application_name=a&options=-c%20work_mem%3D8MB&lock_timeout=7&connection_limit=5&statement_timeout=7&sslcrl=secret';
    const { config, ignored } = parseDatabaseUrl(url);
    expect(config).toMatchObject({ application_name: 'a', options: '-c work_mem=8MB', lock_timeout: '7' });
    expect(Object.keys(config)).not.toContain('statement_timeout');
    expect(ignored).toEqual(['connection_limit', 'statement_timeout', 'sslcrl']);
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
