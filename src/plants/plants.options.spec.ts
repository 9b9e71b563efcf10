import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import pg from 'pg';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { principalOf } from '../auth/token-verifier.js';
import { faultsOf } from '../../test/support/jest/suite.js';
import { PlantsModule } from './plants.module.js';
import { plantsOptionsOf, PlantsRouteOptions } from './plants.options.js';

const url = 'postgresql://gardener:secret@db/plants';
const pool = new pg.Pool();

class Guard {
  canActivate(): boolean {
    return true;
  }
}

/** What is wrong with options, which are used as the module does: those of the route before the application starts, the others at the start. */
const faultsIn = (given: object): string[] => {
  const isOfRoute = Object.keys(given).some((name) => name in new PlantsRouteOptions());
  const useRoute = (): unknown => PlantsModule.forRoot({ database: { url }, guards: 'none', ...given } as never);
  return faultsOf(PlantsModule.name, isOfRoute ? useRoute : () => plantsOptionsOf({ database: { url }, ...given }));
};

describe(PlantsModule.name, () => {
  it('should have the defaults in place of what is not given, and the very pool that is', () => {
    const options = {
      database: { url, size: 10, timeout: 5000 },
      bodyLimit: 1_048_576,
      writeQueueLimit: 10_000,
      createdBy: principalOf,
    };
    expect(plantsOptionsOf({ database: { url, schema: undefined }, bodyLimit: undefined })).toEqual(options);
    const given = { database: { url, size: 1, timeout: 2 }, bodyLimit: 1, writeQueueLimit: 2 };
    expect(plantsOptionsOf(given)).toEqual({ ...options, ...given });
    expect(Reflect.get(plantsOptionsOf({ database: { pool } }).database, 'pool')).toBe(pool);
  });

  it.each([
    { path: '/api/v1.0/my-plants_~/', version: ['1', VERSION_NEUTRAL], guards: [BearerAuthGuard, Guard], imports: [] },
    { guards: 'global', errorStatus: 'semantic', securityScheme: 'host.jwt-1', schemaPrefix: '' },
    { guards: undefined, path: false },
    { database: { url: 'postgresql://gardener@db/plants', password: 'secret', schema: 'green', timeout: 86_400_000 } },
    { database: { pool: { connect: () => pool.connect() } } },
  ])('should accept (%#)', (given) => {
    expect(faultsIn(given)).toEqual([]);
  });

  it.each<[name: string, right: string, ...wrong: unknown[]]>([
    ['path', 'parts made of letters', '', '/', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard, [Guard, undefined]],
    ['guards', 'an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none'], undefined],
    ['errorStatus', 'one of contract, semantic', 'Semantic', 400],
    ['imports', 'an array of modules', {}],
    ['securityScheme', 'the name of a security scheme', '', false],
    ['schemaPrefix', 'letters, digits and ._-', 'a b', null],
    ['bodyLimit', 'a whole number of bytes from 1 to ', 0, 1.5, 2 ** 40],
    ['writeQueueLimit', 'a whole number from 1 to 1000000', 0],
    ['createdBy', 'a function that returns who creates a plant', ''],
    ['database', '{ url } or { pool }: where plants are stored', url, [url], undefined],
    ['bodylimit', 'one of database, bodyLimit, writeQueueLimit, ', 5],
  ])('should refuse another %s', (name, right, ...wrong) => {
    for (const value of wrong) {
      const [fault, ...others] = faultsIn({ [name]: value });
      expect(fault).toMatch(`${name}: is `);
      expect(fault).toContain(`, should be ${right}`);
      expect(others).toEqual([]);
    }
  });

  it.each<[object, ...faults: string[]]>([
    [{ url: undefined }, 'url: is missing, should be a PostgreSQL URL such as postgresql://user@host:5432/plants'],
    [{ url: '' }, 'url: is empty, should be a PostgreSQL URL such as'],
    [{ url, pool }, 'pool: is given in addition to url, should be left out, or the url'],
    [{ uri: url }, 'uri: is no option, should be one of url, password, schema, size', 'url: is missing'],
    [{ url, password: 'hidden' }, 'url: holds a password other than the one given separately'],
    [{ pool, schema: '', size: 5 }, 'schema: must name a schema of 1 to 63 bytes', 'size: is no option'],
    [{ pool: {}, timeout: 86_400_001 }, 'pool: is an object, should be a Pool', 'timeout: is 86400001'],
    [{ url: 5, password: 5, schema: 5, size: 0 }, 'url: is 5', 'password: is 5', 'schema: is 5', 'size: is 0'],
  ])('should tell all that is wrong with a database, and no secret (%#)', (database, ...faults) => {
    const found = faultsIn({ database });
    expect(found.sort()).toEqual(faults.sort().map((fault) => expect.stringContaining(`database.${fault}`) as unknown));
    expect(found.join()).not.toMatch(/secret|hidden|gardener/);
  });
});
