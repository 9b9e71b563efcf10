import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { extrasFaults, type PlantsModuleExtras, PlantsModuleOptionsError } from './plants.options.js';
import { PlantsModule } from './plants.module.js';

class Guard {
  canActivate = (): boolean => true;
}

describe(extrasFaults.name, () => {
  it.each<PlantsModuleExtras>([
    {},
    { path: 'plants' },
    { path: '/api/v1.0/my-plants_~/' },
    { version: '1' },
    { version: VERSION_NEUTRAL },
    { version: ['1', VERSION_NEUTRAL] },
    { guards: [BearerAuthGuard, Guard], imports: [] },
    { openApi: {} },
    { openApi: { namePrefix: 'Store_2', securityScheme: 'host.jwt-1' } },
    { openApi: { securityScheme: false } },
  ])('should let pass (%#)', (extras) => {
    expect(extrasFaults(extras)).toEqual([]);
  });

  it.each([
    ["path: is '', should be parts made of letters, digits and -._~", { path: '' }],
    ["path: is '/', should be", { path: '/' }],
    ["path: is 'a//b', should be", { path: 'a//b' }],
    ["path: is 'a/..', should be", { path: 'a/..' }],
    ["path: is 'garden/:id', should be", { path: 'garden/:id' }],
    ["path: is '*all', should be", { path: '*all' }],
    ["path: is [ 'a', 'b' ], should be", { path: ['a', 'b'] }],
    ['path: is null, should be', { path: null }],
    ['version: is 1, should be a string such as "1"', { version: 1 }],
    ['version: is [], should be', { version: [] }],
    ['guards: is [class Guard], should be an array of classes', { guards: Guard }],
    ['guards: is [ undefined ], should be', { guards: [undefined] }],
    ['guards: is [ [Function (anonymous)] ], should be', { guards: [() => true] }],
    ['guards: is [ [Guard] ], should be', { guards: [new Guard()] }],
    ['imports: is {}, should be an array of modules', { imports: {} }],
    ["openApi: is 'Store', should be an object", { openApi: 'Store' }],
    ['openApi.prefix: is no option, should be one of namePrefix, securityScheme', { openApi: { prefix: '' } }],
    ["openApi.namePrefix: is 'my store', should be letters, digits and _", { openApi: { namePrefix: 'my store' } }],
    ["openApi.securityScheme: is '', should be the name of a security scheme", { openApi: { securityScheme: '' } }],
  ])('should refuse: %s', (message, extras) => {
    const options = { database: { url: 'postgresql://localhost/plants' }, ...extras } as never;
    expect(() => PlantsModule.forRoot(options)).toThrow(PlantsModuleOptionsError);
    expect(() => PlantsModule.forRoot(options)).toThrow(`\n${message}`);
  });

  it('should tell of all at once', () => {
    expect(extrasFaults({ path: '', version: '', openApi: { namePrefix: '' } })).toHaveLength(3);
  });
});
