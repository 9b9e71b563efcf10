import { type CanActivate, type ExecutionContext, Inject, Injectable, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { ApiError } from '../errors/api.error.js';
import type { PlatformRequest } from '../http/platform.js';
import { authenticate } from './bearer-attempt.js';
import { BearerStrategy } from './bearer.strategy.js';
import { CredentialUndecidedError, InvalidTokenError } from './credential.error.js';

interface RequestGuard extends CanActivate {
  getRequest(context: ExecutionContext): unknown;
}

/** Declared as no more than a guard: the declarations of passport would reach the host, which may lack or have others of them. */
const PassportGuard: Type<RequestGuard> = AuthGuard();

/** Lets a request pass that carries a valid bearer token. */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  readonly #strategy: BearerStrategy;

  constructor(@Inject(BearerStrategy) strategy: unknown) {
    // The strategy itself and not its name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy });
    this.#strategy = strategy as BearerStrategy;
  }

  /** Nest's own version has passport prepare the strategy for each request, which is slow, and for one request at a time. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = this.getRequest(context) as PlatformRequest & { user?: unknown };
    const { error, principal } = await authenticate(request, this.#strategy);
    request.user = this.handleRequest(error, principal);
    return true;
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  handleRequest<Principal>(error: Error | null, principal: Principal | false): Principal {
    if (error) throw error instanceof ApiError ? error : new CredentialUndecidedError(error);
    if (!principal) throw new InvalidTokenError();
    return principal;
  }
}
