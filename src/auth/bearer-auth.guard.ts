import { type CanActivate, Inject, Injectable, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { BearerStrategy } from './bearer.strategy.js';
import { ApiError } from '../errors/api.error.js';
import { CredentialUndecidedError, InvalidTokenError } from './credential.error.js';

/** Declared as no more than a guard: the declarations of passport would reach the host, which may lack or have others of them. */
const PassportGuard: Type<CanActivate> = AuthGuard();

/** Lets a request pass that carries a valid bearer token. */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  constructor(@Inject(BearerStrategy) strategy: unknown) {
    // The strategy itself and not its name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy });
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  handleRequest<Principal>(error: Error | null, principal: Principal | false): Principal {
    if (error) throw error instanceof ApiError ? error : new CredentialUndecidedError(error);
    if (!principal) throw new InvalidTokenError();
    return principal;
  }
}
