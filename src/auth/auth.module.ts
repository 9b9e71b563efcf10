import { type DynamicModule, Module } from '@nestjs/common';
import { BearerAuthGuard } from './bearer-auth.guard.js';
import { BearerStrategy } from './bearer.strategy.js';
import { StaticTokenVerifier } from './static-token-verifier.js';
import { TokenVerifier } from './token-verifier.js';

export interface AuthModuleOptions {
  /** Tokens that are valid as they stand. */
  accessTokens: readonly string[];
}

/** Bearer tokens. It binds nothing: put `BearerAuthGuard` on the routes to protect, or on all with `APP_GUARD`. */
@Module({})
export class AuthModule {
  static forRoot({ accessTokens }: AuthModuleOptions): DynamicModule {
    return {
      module: AuthModule,
      providers: [
        BearerAuthGuard,
        BearerStrategy,
        { provide: TokenVerifier, useFactory: () => new StaticTokenVerifier(accessTokens) },
      ],
      exports: [BearerAuthGuard, BearerStrategy],
    };
  }
}
