import { describe, expect, it } from '@jest/globals';
import { VERSION_NEUTRAL } from '@nestjs/common';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { assertExtras } from './assert-extras.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import { PlantsModule } from './plants.module.js';

class Guard {
  canActivate = (): boolean => true;
}

describe(assertExtras.name, () => {
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
    expect(() => {
      assertExtras(extras, 'forRootAsync');
    }).not.toThrow();
  });

  it.each([
    ["`path` of PlantsModule is ''; it must be parts made of letters, digits and -._~", { path: '' }],
    ["`path` of PlantsModule is '/'; it must be", { path: '/' }],
    ["`path` of PlantsModule is 'a//b'; it must be", { path: 'a//b' }],
    ["`path` of PlantsModule is 'a/..'; it must be", { path: 'a/..' }],
    ["`path` of PlantsModule is 'garden/:id'; it must be", { path: 'garden/:id' }],
    ["`path` of PlantsModule is '*all'; it must be", { path: '*all' }],
    ["`path` of PlantsModule is [ 'a', 'b' ]; it must be", { path: ['a', 'b'] }],
    ['`path` of PlantsModule is null; it must be', { path: null }],
    ['`version` of PlantsModule is 1; it must be a string such as "1"', { version: 1 }],
    ['`version` of PlantsModule is []; it must be', { version: [] }],
    ['`guards` of PlantsModule is [class Guard]; it must be an array of classes', { guards: Guard }],
    ['`guards` of PlantsModule is [ undefined ]; it must be', { guards: [undefined] }],
    ['`guards` of PlantsModule is [ [Function (anonymous)] ]; it must be', { guards: [() => true] }],
    ['`guards` of PlantsModule is [ [Guard] ]; it must be', { guards: [new Guard()] }],
    ['`imports` of PlantsModule is {}; it must be an array of modules', { imports: {} }],
    ["`openApi` of PlantsModule is 'Store'; it must be an object", { openApi: 'Store' }],
    [
      '`openApi` of PlantsModule takes `namePrefix`, `securityScheme`; it does not know `prefix`.',
      { openApi: { prefix: '' } },
    ],
    [
      "`openApi.namePrefix` of PlantsModule is 'my store'; it must be letters, digits and _",
      { openApi: { namePrefix: 'my store' } },
    ],
    [
      "`openApi.securityScheme` of PlantsModule is ''; it must be the name of a security scheme",
      { openApi: { securityScheme: '' } },
    ],
  ])('should refuse: %s', (message, extras) => {
    const options = { database: { url: 'postgresql://localhost/plants' }, ...extras } as never;
    expect(() => PlantsModule.forRoot(options)).toThrow(PlantsModuleOptionsError);
    expect(() => PlantsModule.forRoot(options)).toThrow(`The option ${message}`);
  });

  it('should refuse options beside the factory that only it can return', () => {
    const options = { useFactory: () => ({ database: { url: '' } }), bodyLimit: 10 };
    expect(() => PlantsModule.forRootAsync(options)).toThrow(
      'PlantsModule.forRootAsync (all others are for its factory) takes `path`, `version`, `guards`, `imports`, `openApi`; it does not know `bodyLimit`.',
    );
  });
});
