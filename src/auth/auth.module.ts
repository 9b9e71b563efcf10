import { ConfigurableModuleBuilder, Module, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { assertNotRequestScoped } from '../util/options.js';
import { AUTH_MODULE, authOptionsOf, type PlantsAuthModuleOptions, PlantsAuthOptions } from './auth.options.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { BearerStrategy } from './bearer.strategy.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';
import { loadJose } from './issuer-keys.js';
import { JwtVerifier } from './jwt.verifier.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { TokenVerifier, TokenVerifierChain } from './token-verifier.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsAuthModuleOptions>({
  moduleName: 'PlantsAuth',
})
  .setClassMethodName('forRoot')
  .build();

/**
 * Provides `BearerAuthGuard`. It protects nothing by itself: put the guard on the store's route (`guards`), on routes
 * of your own, or on all with `APP_GUARD`. The start fails with one error that names every fault of the options. With
 * `issuedTokens`, it also fails with a {@link MigrationError} if the database cannot be reached or lacks the tables.
 */
@Module({
  providers: [
    BearerAuthGuard,
    BearerStrategy,
    { provide: PlantsAuthOptions, useFactory: authOptionsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: IssuedTokenVerifier,
      useFactory: ({ issuedTokens }: PlantsAuthOptions) => issuedTokens && new IssuedTokenVerifier(issuedTokens),
      inject: [PlantsAuthOptions],
    },
    {
      provide: TokenVerifier,
      useFactory: async ({ accessTokens, jwt, verifier }: PlantsAuthOptions, issued?: IssuedTokenVerifier) =>
        verifier ??
        new TokenVerifierChain([
          ...(accessTokens ? [new StaticTokenVerifier(accessTokens)] : []),
          ...(issued ? [issued] : []),
          ...(jwt ? [new JwtVerifier(jwt, await loadJose())] : []),
        ]),
      inject: [PlantsAuthOptions, IssuedTokenVerifier],
    },
  ],
  exports: [BearerAuthGuard, BearerStrategy, TokenVerifier, IssuedTokenVerifier],
})
export class PlantsAuthModule extends ConfigurableModuleClass implements OnModuleInit {
  constructor(private readonly moduleRef: ModuleRef) {
    super();
  }

  onModuleInit(): void {
    assertNotRequestScoped(this.moduleRef, PlantsAuthOptions, AUTH_MODULE);
  }
}
