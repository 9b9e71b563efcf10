import { ConfigurableModuleBuilder, type DynamicModule, Module } from '@nestjs/common';
import { type PlantsAuthModuleOptions, PlantsAuthOptions, authOptionsOf } from './auth.options.js';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { JwtVerifier } from './jwt.verifier.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { TokenVerifier, TokenVerifiers } from './token-verifier.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<PlantsAuthModuleOptions>({
  moduleName: 'PlantsAuth',
})
  .setClassMethodName('forRoot')
  .build();

/**
 * Bearer tokens: provides `BearerAuthGuard`. It protects nothing by itself: put the guard on the store's route (`guards`), on routes of your own,
 * or on all with `APP_GUARD`. With `issuedTokens`, the start fails with a {@link MigrationError} if their database cannot be reached or lacks
 * the tables.
 */
@Module({
  providers: [
    BearerAuthGuard,
    { provide: PlantsAuthOptions, useFactory: authOptionsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: StaticTokenVerifier,
      useFactory: ({ accessTokens }: PlantsAuthOptions) => accessTokens && new StaticTokenVerifier(accessTokens),
      inject: [PlantsAuthOptions],
    },
    {
      provide: IssuedTokenVerifier,
      useFactory: ({ issuedTokens }: PlantsAuthOptions) => issuedTokens && new IssuedTokenVerifier(issuedTokens),
      inject: [PlantsAuthOptions],
    },
    {
      provide: JwtVerifier,
      useFactory: ({ jwt }: PlantsAuthOptions) => jwt && new JwtVerifier(jwt),
      inject: [PlantsAuthOptions],
    },
    {
      provide: TokenVerifier,
      useFactory: ({ verifier }: PlantsAuthOptions, ...verifiers: (TokenVerifier | undefined)[]) =>
        verifier ?? new TokenVerifiers(verifiers.filter((one) => one !== undefined)),
      inject: [PlantsAuthOptions, StaticTokenVerifier, IssuedTokenVerifier, JwtVerifier],
    },
  ],
  exports: [BearerAuthGuard, TokenVerifier, IssuedTokenVerifier],
})
export class PlantsAuthModule extends ConfigurableModuleClass {
  /** The module with these options. The start fails with an error that names every fault, if they cannot work. */
  static override forRoot(options: PlantsAuthModuleOptions): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }
}
