import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { ApiError } from '../errors/api-error.js';
import type { PlatformRequest, PlatformResponse } from '../http/platform.js';
import { AuthModuleOptionsError } from './auth-module-options.error.js';
import { authenticate } from './bearer-attempt.js';
import { BearerStrategy } from './bearer.strategy.js';
import { CredentialUndecidedError, InsufficientScopeError, InvalidTokenError } from './credential.error.js';
import { CredentialLimits } from './limits/credential-limits.js';
import { LogThrottle } from './log-throttle.js';
import type { Principal } from './principal.js';
import { setPrincipal } from './principal-of.js';
import { requiredScope } from './required-scope.decorator.js';

interface RequestGuard extends CanActivate {
  getRequest(context: ExecutionContext): unknown;
}

const NO_PRINCIPAL =
  'verify() of the TokenVerifier has to return { name, scopes } or, where the token is not valid, nothing';

const WITHOUT_AUTH_MODULE =
  'imports: is without AuthModule, should have AuthModule.forRoot({ accessTokens }), which BearerAuthGuard needs';

/** Milliseconds from one line in the log to the next on why tokens can't be decided on. */
const TOLD_EVERY_MS = 1000;

/** Declared as no more than a guard: the declarations of passport would reach the host, which may lack or have others of them. */
const PassportGuard: Type<RequestGuard> = AuthGuard();

/**
 * Lets a request pass that carries a valid bearer token, and the scope `plants:create` to the store's route. Whom it stands for, a
 * `Principal`, is `request.user`. It throws an `ApiError`:
 * - 40100, 40101, 40102 where the credential is missing, wrong or malformed, and 40300 where it lacks the scope;
 * - 42900 where its address has sent too many wrong ones, or too many requests were made with it;
 * - 50300 where it can't be told now whether it is valid.
 */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  readonly #strategy: BearerStrategy;
  readonly #limits: CredentialLimits;
  readonly #throttle = new LogThrottle(TOLD_EVERY_MS);

  // Optional, so that a host that forgot AuthModule is told so in its own terms, and not in those of injection.
  constructor(
    @Optional() @Inject(BearerStrategy) strategy: unknown,
    @Optional() @Inject(CredentialLimits) limits: unknown,
  ) {
    if (strategy === undefined) throw new AuthModuleOptionsError([WITHOUT_AUTH_MODULE]);
    // The strategy itself and not its name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy });
    this.#strategy = strategy as BearerStrategy;
    this.#limits = limits as CredentialLimits;
  }

  /** Nest's own version has passport prepare the strategy for each request, which is slow, and for one request at a time. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = this.getRequest(context) as PlatformRequest & { user?: unknown };
    const { error, principal } = await authenticate(request, this.#strategy);
    if (!error && !principal) this.#limits.countWrongToken(request);
    const user = this.handleRequest(error, principal);
    request.user = user;
    setPrincipal(request, user);
    const counted = this.#limits.countRequest(user, context.switchToHttp().getResponse<PlatformResponse>());
    if (counted !== undefined) await counted;
    const scope = requiredScope(context.getHandler());
    if (scope !== undefined && !user.scopes.includes(scope)) throw new InsufficientScopeError(scope);
    return true;
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  handleRequest(error: Error | null, principal: Principal | false): Principal {
    if (error instanceof ApiError) throw error;
    if (error) throw new CredentialUndecidedError(error, this.#throttle.isDue(error.name));
    if (!principal) throw new InvalidTokenError();
    // JavaScript may return anything, and a route without a scope would let it in.
    if (typeof principal.name !== 'string' || !Array.isArray(principal.scopes)) throw new TypeError(NO_PRINCIPAL);
    return principal;
  }
}
