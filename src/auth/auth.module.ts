import { ConfigurableModuleBuilder, type DynamicModule, Module } from '@nestjs/common';
import { assertAsyncAuthOptions, type AuthModuleOptions, verifierOf } from './auth-module.options.js';
import { BearerAuthGuard, BearerStrategy } from './bearer-auth.guard.js';
import { givenOptions } from '../util/options.js';
import { CredentialLimits } from './rate-limits.js';
import { TokenVerifier } from './token-verifier.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<AuthModuleOptions>({
  moduleName: 'Auth',
})
  .setClassMethodName('forRoot')
  .build();

/**
 * Bearer tokens. It binds nothing: put `BearerAuthGuard` on the routes to protect, or on all with `APP_GUARD`, and
 * `ApiExceptionFilter` on routes that are not the store's. Starting fails with an `AuthModuleOptionsError` where the options can't
 * work, and with a `MigrationError` where the database of issued tokens can't be reached or lacks their table.
 */
@Module({
  providers: [
    BearerAuthGuard,
    BearerStrategy,
    { provide: TokenVerifier, useFactory: verifierOf, inject: [MODULE_OPTIONS_TOKEN] },
    {
      provide: CredentialLimits,
      // What is wrong with the options is told by the verifier's factory.
      useFactory: (options: unknown) => new CredentialLimits(givenOptions(options)),
      inject: [MODULE_OPTIONS_TOKEN],
    },
  ],
  exports: [BearerAuthGuard, BearerStrategy, CredentialLimits],
})
export class AuthModule extends ConfigurableModuleClass {
  /** Bearer tokens as these options have them. */
  static override forRoot(options: Parameters<typeof ConfigurableModuleClass.forRoot>[0]): DynamicModule {
    // JavaScript may call it without any, which is told of like every other fault.
    return super.forRoot(Object(options) as typeof options);
  }

  /** Bearer tokens as the options have them that a factory returns. */
  static override forRootAsync(options: Parameters<typeof ConfigurableModuleClass.forRootAsync>[0]): DynamicModule {
    assertAsyncAuthOptions(options);
    return super.forRootAsync(options);
  }
}
