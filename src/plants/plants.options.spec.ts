import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import { faultsOf as faultsOfError } from '../../test/support/rejection.js';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { principalOf } from '../auth/token-verifier.js';
import { PlantsModule } from './plants.module.js';
import { routeOptionsOf, type PlantsRouteOptions, plantsOptionsOf } from './plants.options.js';

const database = { url: 'postgresql://gardener:secret@db/plants' };

const faultsOf = (use: () => unknown): string[] => faultsOfError('PlantsModule', use);

describe(plantsOptionsOf.name, () => {
  it('should have the defaults in place of what is not given', () => {
    const settings = {
      database: { ...database, size: 10, timeout: 5000 },
      bodyLimit: 1_048_576,
      writeQueueLimit: 10_000,
      createdBy: principalOf,
    };
    expect(plantsOptionsOf({ database, bodyLimit: undefined })).toEqual(settings);
    const given = { database: { ...database, size: 1, timeout: 2 }, bodyLimit: 1, writeQueueLimit: 2 };
    expect(plantsOptionsOf(given)).toEqual({ ...settings, ...given });
  });

  it.each<[unknown, ...string[]]>([
    ['postgresql://gardener:secret@db/plants', 'database: is missing'],
    [{ database, bodylimit: 5 }, 'bodylimit: is no option, should be one of database, bodyLimit, writeQueueLimit, '],
    [{ database, guards: [], path: 'x' }, 'guards: is no option, should be one of', 'path: is no option'],
    [{ database, bodyLimit: 2 ** 40 }, 'bodyLimit: is 1099511627776, should be a whole number of bytes from 1 to '],
    [{ database, writeQueueLimit: 0 }, 'writeQueueLimit: is 0, should be a whole number from 1 to 1000000'],
    [
      { bodyLimit: 1.5, createdBy: '', database: {} },
      'database.url: is undefined',
      'bodyLimit: is 1.5',
      'createdBy: is a string, should be a function that returns who creates a plant',
    ],
  ])('should be refused with every fault of %j, and no secret', (options, ...faults) => {
    const found = faultsOf(() => plantsOptionsOf(options));
    expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault) as unknown));
    expect(found.join()).not.toMatch('secret');
  });
});

class Guard {
  canActivate(): boolean {
    return true;
  }
}

describe(routeOptionsOf.name, () => {
  it.each<Partial<PlantsRouteOptions>>([
    { path: '/api/v1.0/my-plants_~/' },
    { version: ['1', VERSION_NEUTRAL] },
    { guards: [BearerAuthGuard, Guard], imports: [] },
    { guards: 'global', errorStatus: 'semantic', securityScheme: 'host.jwt-1' },
    { guards: undefined, path: false } as never,
  ])('should let pass (%#)', (given) => {
    expect(faultsOf(() => routeOptionsOf({ guards: 'none', ...given }))).toEqual([]);
  });

  it.each<[name: string, right: string, ...wrong: unknown[]]>([
    ['path', 'parts made of letters', '', '/', 'a//b', 'a/..', 'garden/:id', '*all', ['a', 'b'], null, true],
    ['guards', 'an array of guard classes, such as [BearerAuthGuard]; ', null, [], 'Global', Guard, [Guard, undefined]],
    ['guards', 'an array of guard classes', [() => true], [new Guard()], [Guard, Object], ['none'], undefined],
    ['errorStatus', 'one of contract, semantic', 'Semantic', 400],
    ['imports', 'an array of modules', {}],
    ['securityScheme', 'the name of a security scheme', '', false],
  ])('should refuse another %s before the application starts', (name, right, ...wrong) => {
    for (const value of wrong) {
      const options = { database, guards: 'none', [name]: value } as never;
      const [fault, ...others] = faultsOf(() => PlantsModule.forRoot(options));
      expect(fault).toMatch(`${name}: is `);
      expect(fault).toContain(`, should be ${right}`);
      expect(others).toEqual([]);
    }
  });
});
