import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import { faultsOf } from '../../test/support/http/refusal.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { principalOf } from '../auth/token-verifier.js';
import { PlantsModule } from './plants.module.js';
import { plantsOptionsOf, PlantsRouteOptions } from './plants.options.js';

const database = { url: 'postgresql://gardener:secret@db/plants' };

class Guard {
  canActivate(): boolean {
    return true;
  }
}

/** Uses options as the module does: those of the route before the application starts, the others at the start. */
const use = (given: Partial<PlantsRouteOptions> | object): unknown => {
  const isOfRoute = Object.keys(given).some((name) => name in new PlantsRouteOptions());
  if (isOfRoute) return PlantsModule.forRoot({ database, guards: 'none', ...given } as never);
  return plantsOptionsOf({ database, ...given });
};

describe(PlantsModule.name, () => {
  it('should have the defaults in place of what is not given', () => {
    const options = {
      database: { ...database, size: 10, timeout: 5000 },
      bodyLimit: 1_048_576,
      writeQueueLimit: 10_000,
      createdBy: principalOf,
    };
    expect(plantsOptionsOf({ database, bodyLimit: undefined })).toEqual(options);
    const given = { database: { ...database, size: 1, timeout: 2 }, bodyLimit: 1, writeQueueLimit: 2 };
    expect(plantsOptionsOf(given)).toEqual({ ...options, ...given });
  });

  it.each<Partial<PlantsRouteOptions>>([
    { path: '/api/v1.0/my-plants_~/' },
    { version: ['1', VERSION_NEUTRAL] },
    { guards: [BearerAuthGuard, Guard], imports: [] },
    { guards: 'global', errorStatus: 'semantic', securityScheme: 'host.jwt-1' },
    { guards: undefined, path: false } as never,
  ])('should accept (%#)', (given) => {
    expect(faultsOf('PlantsModule', () => use(given))).toEqual([]);
  });

  it.each<[name: string, right: string, ...wrong: unknown[]]>([
    ['path', 'parts made of letters', '', '/', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard, [Guard, undefined]],
    ['guards', 'an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none'], undefined],
    ['errorStatus', 'one of contract, semantic', 'Semantic', 400],
    ['imports', 'an array of modules', {}],
    ['securityScheme', 'the name of a security scheme', '', false],
    ['bodyLimit', 'a whole number of bytes from 1 to ', 0, 1.5, 2 ** 40],
    ['writeQueueLimit', 'a whole number from 1 to 1000000', 0],
    ['createdBy', 'a function that returns who creates a plant', ''],
    ['bodylimit', 'one of database, bodyLimit, writeQueueLimit, ', 5],
  ])('should refuse another %s', (name, right, ...wrong) => {
    for (const value of wrong) {
      const [fault, ...others] = faultsOf('PlantsModule', () => use({ [name]: value }));
      expect(fault).toMatch(`${name}: is `);
      expect(fault).toContain(`, should be ${right}`);
      expect(others).toEqual([]);
    }
  });

  it.each<[unknown, ...string[]]>([
    [database.url, 'database: is missing'],
    [{ bodyLimit: 1.5, path: 'x', database: {} }, 'path: is no option', 'database.url: is ', 'bodyLimit: is 1.5'],
  ])('should name every fault of %j, and no secret', (options, ...faults) => {
    const found = faultsOf('PlantsModule', () => plantsOptionsOf(options));
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toMatch('secret');
  });
});
