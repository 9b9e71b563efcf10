import { ConfigurableModuleBuilder, type DynamicModule, Module } from '@nestjs/common';
import { type AuthModuleOptions, AuthSettings, authSettingsOf } from './auth.options.js';
import { BearerAuthGuard, BearerStrategy } from './bearer-auth.guard.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { StaticTokenVerifier } from './static-tokens.js';
import { TokenVerifier, TokenVerifiers } from './token-verifier.js';
import { IssuedTokenVerifier } from './tokens/issued-token-verifier.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<AuthModuleOptions>({
  moduleName: 'Auth',
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
    BearerStrategy,
    { provide: AuthSettings, useFactory: authSettingsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: StaticTokenVerifier,
      useFactory: ({ accessTokens }: AuthSettings) => accessTokens && new StaticTokenVerifier(accessTokens),
      inject: [AuthSettings],
    },
    {
      provide: IssuedTokenVerifier,
      useFactory: ({ issuedTokens }: AuthSettings) => issuedTokens && new IssuedTokenVerifier(issuedTokens),
      inject: [AuthSettings],
    },
    {
      provide: JwtVerifier,
      useFactory: ({ jwt }: AuthSettings) => jwt && new JwtVerifier(jwt),
      inject: [AuthSettings],
    },
    {
      provide: TokenVerifier,
      useFactory: ({ verifier }: AuthSettings, ...verifiers: (TokenVerifier | undefined)[]) =>
        verifier ?? new TokenVerifiers(verifiers.filter((one) => one !== undefined)),
      inject: [AuthSettings, StaticTokenVerifier, IssuedTokenVerifier, JwtVerifier],
    },
  ],
  exports: [BearerAuthGuard, BearerStrategy, IssuedTokenVerifier],
})
export class AuthModule extends ConfigurableModuleClass {
  /** The module with these options. The start fails with an error that names every fault, if they cannot work. */
  static override forRoot(options: AuthModuleOptions): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }
}
