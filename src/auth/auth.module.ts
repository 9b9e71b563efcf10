import { ConfigurableModuleBuilder, type DynamicModule, Module } from '@nestjs/common';
import { type AuthModuleOptions, AuthSettings, authSettingsOf, checkAsyncAuthOptions } from './auth.options.js';
import { BearerAuthGuard, BearerStrategy } from './bearer-auth.guard.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { CredentialLimits } from './rate-limits.js';
import { StaticTokenVerifier } from './static-tokens.js';
import { TokenVerifier, TokenVerifiers } from './token-verifier.js';
import { IssuedTokenVerifier } from './tokens/issued-token-verifier.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<AuthModuleOptions>({
  moduleName: 'Auth',
})
  .setClassMethodName('forRoot')
  .build();

export function verifierOf(
  { accessTokens, issuedTokens, jwt, verifier }: AuthSettings,
  limits?: CredentialLimits,
  statics = new StaticTokenVerifier(accessTokens ?? []),
): TokenVerifier {
  if (verifier) return verifier;
  return new TokenVerifiers([
    ...(accessTokens ? [statics] : []),
    ...(issuedTokens ? [new IssuedTokenVerifier(issuedTokens, undefined, limits)] : []),
    ...(jwt ? [new JwtVerifier(jwt)] : []),
  ]);
}

/**
 * Bearer tokens: provides `BearerAuthGuard`. It protects nothing by itself: put the guard on the store's route (`guards`), on routes of your own,
 * or on all with `APP_GUARD`. With `issuedTokens`, the start fails with a {@link MigrationError} if their database cannot be reached or lacks
 * the tables.
 */
@Module({
  providers: [
    BearerAuthGuard,
    BearerStrategy,
    CredentialLimits,
    { provide: AuthSettings, useFactory: authSettingsOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: StaticTokenVerifier,
      useFactory: ({ accessTokens }: AuthSettings) => new StaticTokenVerifier(accessTokens ?? []),
      inject: [AuthSettings],
    },
    { provide: TokenVerifier, useFactory: verifierOf, inject: [AuthSettings, CredentialLimits, StaticTokenVerifier] },
  ],
  exports: [BearerAuthGuard, BearerStrategy, CredentialLimits, StaticTokenVerifier],
})
export class AuthModule extends ConfigurableModuleClass {
  /** The module with these options. The start fails with an error that names every fault, if they cannot work. */
  static override forRoot(options: AuthModuleOptions): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** The module with the options that a factory returns. @throws {@link AuthModuleOptionsError} if an option is given in addition to the factory */
  static override forRootAsync(options: Parameters<typeof ConfigurableModuleClass.forRootAsync>[0]): DynamicModule {
    checkAsyncAuthOptions(options);
    return super.forRootAsync(options);
  }
}
