import { ConfigurableModuleBuilder, type DynamicModule, Module, Optional } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { assertOneNest } from '../util/peers.cjs';
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
): TokenVerifier {
  if (verifier) return verifier;
  return new TokenVerifiers([
    ...(accessTokens ? [new StaticTokenVerifier(accessTokens)] : []),
    ...(issuedTokens ? [new IssuedTokenVerifier(issuedTokens, undefined, limits)] : []),
    ...(jwt ? [new JwtVerifier(jwt)] : []),
  ]);
}

/**
 * Bearer tokens. It binds nothing: put `BearerAuthGuard` on the routes to protect, or on all with `APP_GUARD`, and
 * `ApiExceptionFilter` on routes that are not the store's. Starting fails with an `AuthModuleOptionsError` if the options can't
 * work, and with a `MigrationError` if the database of issued tokens can't be reached or lacks their table.
 */
@Module({
  providers: [
    BearerAuthGuard,
    BearerStrategy,
    CredentialLimits,
    { provide: AuthSettings, useFactory: authSettingsOf, inject: [MODULE_OPTIONS_TOKEN] },
    { provide: TokenVerifier, useFactory: verifierOf, inject: [AuthSettings, CredentialLimits] },
  ],
  exports: [BearerAuthGuard, BearerStrategy, CredentialLimits],
})
export class AuthModule extends ConfigurableModuleClass {
  /** Errors of another copy would be unknown to the application's filters. */
  constructor(@Optional() platform?: HttpAdapterHost) {
    super();
    assertOneNest(platform);
  }

  /** Bearer tokens as these options have them. */
  static override forRoot(options: Parameters<typeof ConfigurableModuleClass.forRoot>[0]): DynamicModule {
    // JavaScript may call it without any, which is reported like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** Bearer tokens as the options have them that a factory returns. */
  static override forRootAsync(options: Parameters<typeof ConfigurableModuleClass.forRootAsync>[0]): DynamicModule {
    checkAsyncAuthOptions(options);
    return super.forRootAsync(options);
  }
}
