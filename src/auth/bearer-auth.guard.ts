import { type CanActivate, type ExecutionContext, Inject, Injectable, Logger, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { insufficientScope, invalidToken } from '../errors/api-error.js';
import { type PlatformRequest, type PlatformResponse, requestContext, requestIdOf } from '../http/request-context.js';
import { BearerStrategy } from './bearer.strategy.js';
import { isPublic, requiredScopes } from './scopes.js';
import { type Principal, refusalOf } from './token-verifier.js';

/**
 * Nest's guard with all its members. Its own type would bring the types of passport into the declarations for hosts.
 */
interface PassportGuard extends CanActivate {
  options: object;
  canActivate(context: ExecutionContext): Promise<boolean>;
  getRequest(context: ExecutionContext): PlatformRequest;
  getResponse(context: ExecutionContext): PlatformResponse;
}

const NestAuthGuard = AuthGuard() as unknown as Type<PassportGuard>;

/**
 * Accepts requests with a valid bearer token that has the scopes of `RequireScopes`. The store's route requires
 * `plants:create`. The `Principal` of the token becomes `request.user`. Import `PlantsAuthModule` where you use the
 * guard. On routes of your own, `ApiExceptionFilter` answers what the guard throws.
 * @throws {@link ApiError}: 40100, 40101 or 40102 if the credential is missing, not valid or malformed; 40300 if it
 * lacks the scope; 50300 if the verifier cannot decide now
 */
@Injectable()
export class BearerAuthGuard extends NestAuthGuard {
  // Private fields (#) would fail: the `instanceDecorator` of a host may put a Proxy in place of the guard.
  private readonly logger = new Logger(BearerAuthGuard.name);
  private readonly ownOptions: object;

  /** @internal The declarations of hosts need no type of it. */
  constructor(@Inject(BearerStrategy) strategy: BearerStrategy | undefined) {
    // Nest 11 takes this parameter for optional, as the one of its own guard is.
    if (!strategy)
      throw new Error(
        'BearerAuthGuard needs PlantsAuthModule: import it into the module, or by the imports of PlantsModule',
      );
    const options = { defaultStrategy: strategy.name, property: 'user', session: false };
    super(options);
    this.ownOptions = options;
  }

  /** Nest's guard calls `passport.authenticate()`, and then `handleRequest`. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context.getHandler(), context.getClass())) return true;
    // Nest has put the options of a PassportModule of the host here: another strategy, or another property.
    this.options = this.ownOptions;
    await super.canActivate(context);
    const { name = 'nobody', scopes = [] } = requestContext(this.getResponse(context)).principal ?? {};
    const required = requiredScopes(context.getHandler(), context.getClass());
    const lacking = required.filter((scope) => !scopes.includes(scope));
    if (lacking.length === 0) return true;
    this.log(
      context,
      `A token of ${name} was refused: its scopes are "${scopes.join(' ')}", should include ${lacking.join(' ')}`,
    );
    throw insufficientScope(required, lacking);
  }

  /** Nest's version answers every failure with 401 and sends no challenge. */
  handleRequest(error: unknown, principal: unknown, _info: unknown, context: ExecutionContext): Principal {
    if (!principal) {
      // 40100, 40102, and 50300 of a verifier that cannot decide come as errors. With a refusal, it is the token's.
      const unknown = error ? undefined : 'An access token was refused: the verifier does not know it';
      const refusal = refusalOf(this.getRequest(context)) ?? unknown;
      if (refusal !== undefined) this.log(context, refusal);
      throw error ? (error as Error) : invalidToken();
    }
    // `user` is for the host, and may be replaced by a guard of its own.
    return (requestContext(this.getResponse(context)).principal = principal as Principal);
  }

  private log(context: ExecutionContext, message: string): void {
    this.logger.log(message, { requestId: requestIdOf(this.getResponse(context)) });
  }
}
