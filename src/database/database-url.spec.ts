import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { parseDatabaseUrl } from './database-url.js';

/** What pg makes of the connection string. */
function clientOf(...parameters: Parameters<typeof parseDatabaseUrl>): pg.Client {
  return new pg.Client({ connectionString: parseDatabaseUrl(...parameters).connectionString });
}

function optionsOf(...parameters: Parameters<typeof parseDatabaseUrl>): string | null {
  return new URL(parseDatabaseUrl(...parameters).connectionString).searchParams.get('options');
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
  it('should keep host, port, database and user', () => {
    const client = clientOf('postgresql://gardener:secret@db.example:6543/plants');
    expect(client).toMatchObject({ host: 'db.example', port: 6543, database: 'plants', user: 'gardener' });
  });

  it('should describe the database without the password', () => {
    const { description } = parseDatabaseUrl('postgres://gardener:secret@db.example/plants?sslmode=disable');
    expect(description).toBe('plants at db.example:5432 as gardener');
  });

  it('should take what libpq takes for a local server', () => {
    expect(parseDatabaseUrl('postgresql:///plants').description).toBe('plants at localhost:5432');
    const socket = 'postgresql://gardener:secret@/plants?host=/run/postgresql';
    expect(clientOf(socket)).toMatchObject({ host: '/run/postgresql', database: 'plants', password: 'secret' });
    expect(parseDatabaseUrl(socket).description).toBe('plants at /run/postgresql:5432 as gardener');
    const encoded = 'postgresql://gardener:secret@%2Frun%2Fpostgresql/plants';
    expect(clientOf(encoded)).toMatchObject({ host: '/run/postgresql', database: 'plants', password: 'secret' });
  });

  it('should take the user for the database if none is named, as PostgreSQL does', () => {
    expect(parseDatabaseUrl('postgresql://gardener@db').description).toBe('gardener at db:5432 as gardener');
  });

  describe('password', () => {
    it('should be any text, percent-encoded in the URL', () => {
      fc.assert(
        fc.property(password, (secret) => {
          expect(clientOf(`postgresql://gardener:${encodeURIComponent(secret)}@db/plants`).password).toBe(secret);
        }),
      );
    });

    it('should be any text, as it is, if it comes separately', () => {
      fc.assert(
        fc.property(password, (secret) => {
          expect(clientOf('postgresql://gardener@db/plants', secret).password).toBe(secret);
        }),
      );
    });

    it('should come from a parameter too', () => {
      expect(clientOf('postgresql://gardener@db/plants?password=a%2Bb').password).toBe('a+b');
    });

    it('should be accepted twice only if both are the same', () => {
      expect(clientOf('postgresql://gardener:a%40b@db/plants', 'a@b').password).toBe('a@b');
      expect(faultOf('postgresql://gardener:secret@db/plants', 'hidden')).toMatch(/password other than the one given/);
    });

    it('should not be in any message', () => {
      const faults = [
        faultOf('postgresql://gardener:secret@db/plants', 'hidden'),
        faultOf('postgresql://gardener:secret#@db/plants'),
        faultOf('postgresql://gardener:100%secret@db/plants'),
        faultOf('postgresql://gardener:secret@db:port/plants', 'hidden'),
        faultOf('postgresql://gardener:secret@db/plants?sslmode=secret'),
        faultOf('postgresql://gardener:secret@db/plants?schema='),
      ];
      for (const fault of faults) expect(fault).not.toMatch(/secret|hidden|gardener/);
    });
  });

  describe('schema', () => {
    it('should be public and left to the server by default', () => {
      const url = 'postgresql://gardener@db/plants';
      expect(parseDatabaseUrl(url).schema).toBe('public');
      expect(optionsOf(url)).toBeNull();
    });

    it('should come from the parameter and be selected', () => {
      const url = 'postgresql://gardener@db/plants?schema=green';
      expect(parseDatabaseUrl(url).schema).toBe('green');
      expect(optionsOf(url)).toBe('-c search_path="green"');
    });

    it('should be overridden by the one given separately', () => {
      expect(parseDatabaseUrl('postgresql://gardener@db/plants?schema=green', undefined, 'red').schema).toBe('red');
    });

    it('should be quoted and join the options of the URL', () => {
      const url = 'postgresql://gardener@db/plants?schema=my%20%22schema&options=-c%20work_mem%3D8MB';
      expect(optionsOf(url)).toBe('-c work_mem=8MB -c search_path="my\\ ""schema"');
    });

    it('should not be longer than PostgreSQL keeps', () => {
      expect(faultOf(`postgresql://gardener@db/plants?schema=${'s'.repeat(64)}`)).toMatch(/1 to 63 bytes/);
      expect(faultOf('postgresql://gardener@db/plants?schema=')).toMatch(/1 to 63 bytes/);
    });
  });

  it('should not have a schema by a name that PostgreSQL takes for another', () => {
    expect(faultOf('postgresql://gardener@db/plants?schema=$user')).toMatch('must not be $user');
    expect(faultOf('postgresql://gardener@db/plants', undefined, '$user')).toMatch('must not be $user');
  });

  it('should drop the parameters that only Prisma knows', () => {
    const { connectionString } = parseDatabaseUrl(
      'postgresql://gardener@db/plants?connection_limit=5&pgbouncer=true&application_name=greenhouse',
    );
    expect([...new URL(connectionString).searchParams]).toEqual([['application_name', 'greenhouse']]);
  });

  describe('several servers', () => {
    it.each([
      ['postgresql://gardener:secret@a:5433,b/plants', 'names several hosts: give one address'],
      ['postgresql://a,b:5433,[::1]:1/plants', 'names several hosts: give one address'],
      ['postgresql:///plants?host=a,b', 'has a list in the parameter host: give one address'],
      ['postgresql:///plants?host=a&port=1,2', 'has a list in the parameter port: give one address'],
      ['postgresql://a/plants?target_session_attrs=any', 'has the parameter target_session_attrs: give one address'],
    ])('should be refused by name: %s', (url, fault) => {
      expect(faultOf(url)).toBe(`${fault} that leads to the primary, such as that of HAProxy`);
    });

    it('should not be seen in a password with a comma', () => {
      expect(clientOf('postgresql://gardener:p,w@db/plants').password).toBe('p,w');
    });
  });

  it.each([
    ['[::1]', '[::1]:5432'],
    ['a:7/plants?host=b', 'b:7'],
    ['a:7/plants?port=8', 'a:8'],
  ])('should have the server of %s in its description, as libpq has it', (rest, server) => {
    expect(parseDatabaseUrl(`postgresql://${rest}`).description).toContain(` at ${server}`);
  });

  it('should have a port that exists', () => {
    expect(faultOf('postgresql:///plants?host=a&port=x')).toBe('must have a port from 1 to 65535');
  });

  describe('parameters', () => {
    it('should name the database', () => {
      expect(clientOf('postgresql://a/other?dbname=my%20plants')).toMatchObject({ database: 'my plants' });
      expect(parseDatabaseUrl('postgresql://a?dbname=plants').description).toBe('plants at a:5432');
    });

    it('should be ignored with one warning that names them', () => {
      const url = 'postgresql://db/plants?connection_limit=5&connect_timeout=3&sslcrl=secret&replication=true';
      expect(parseDatabaseUrl(url).warnings).toEqual([
        'Parameters in the URL of the database have no effect: connection_limit, connect_timeout, sslcrl, replication. ' +
          'docs/configuration.md says what to use instead',
      ]);
      expect([...new URL(parseDatabaseUrl(url).connectionString).searchParams]).toEqual([]);
    });

    it('should be refused by name if unknown', () => {
      expect(faultOf('postgresql://db/plants?sslmod=require')).toBe(
        'has the parameter sslmod that neither PostgreSQL nor Prisma knows',
      );
      expect(faultOf('postgresql://db/plants?max=3')).toBe(
        'has the parameter max that neither PostgreSQL nor Prisma knows',
      );
    });

    it('should not be named if one may be the end of a secret', () => {
      expect(faultOf('postgresql://db/plants?password=a&hidden')).toMatch(/^has a parameter that/);
    });
  });

  describe('sslmode', () => {
    const sslOf = (parameters: string): unknown => Reflect.get(clientOf(`postgresql://db/plants?${parameters}`), 'ssl');

    it.each(['prefer', 'require', 'verify-ca', 'verify-full'])('should verify the server with %s', (mode) => {
      const warn = jest.spyOn(process, 'emitWarning');
      expect(sslOf(`sslmode=${mode}`)).toEqual({});
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
    });

    it('should leave the server unverified, or the connection open, if asked for', () => {
      expect(sslOf('sslmode=no-verify')).toEqual({ rejectUnauthorized: false });
      expect(sslOf('sslmode=disable')).toBe(false);
      expect(sslOf('sslmode=require&uselibpqcompat=true')).toEqual({ rejectUnauthorized: false });
    });

    it('should be one that pg knows', () => {
      expect(faultOf('postgresql://db/plants?sslmode=on')).toMatch(/sslmode out of disable, prefer, require/);
    });
  });

  it.each(['', 'plants', 'mysql://user@host/plants', 'postgresql:plants', 'postgresql://user@host:99999/plants'])(
    'should refuse %j',
    (url) => {
      expect(faultOf(url)).toMatch('must be a PostgreSQL URL such as postgresql://user@host:5432/plants');
    },
  );

  it.each(['12#34', '12/34', '12?34'])('should refuse the password %s if it is not encoded', (secret) => {
    expect(faultOf(`postgresql://gardener:${secret}@db/plants`)).toMatch('special characters percent-encoded');
  });

  it('should say how to write a percent sign', () => {
    expect(faultOf('postgresql://gardener:100%@db/plants')).toMatch(/written as %25/);
  });
});
