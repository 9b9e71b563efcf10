import type { CanActivate, FactoryProvider, Type } from '@nestjs/common';
import { BearerAuthGuard, BearerStrategy } from '../auth/bearer-auth.guard.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';

const CREDENTIALS_CHECK = Symbol('CREDENTIALS_CHECK');

/**
 * A provider that fails where `BearerAuthGuard` would, for want of `AuthModule`, and says which option is missing. Nest creates
 * providers before guards, and finds the module wherever the application has it: also behind another one, or global.
 */
export function credentialsCheck(guards: readonly Type<CanActivate>[]): FactoryProvider[] {
  if (!guards.includes(BearerAuthGuard)) return [];
  const useFactory = (strategy?: BearerStrategy): void => {
    if (strategy !== undefined) return;
    throw new PlantsModuleOptionsError([
      'imports: is without AuthModule, should have AuthModule.forRoot({ accessTokens }), which BearerAuthGuard needs',
    ]);
  };
  return [{ provide: CREDENTIALS_CHECK, useFactory, inject: [{ token: BearerStrategy, optional: true }] }];
}
