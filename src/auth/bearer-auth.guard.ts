import { type CanActivate, type ExecutionContext, Inject, Injectable, Logger, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { insufficientScope, invalidToken } from '../errors/api-error.js';
import { type PlatformRequest, type PlatformResponse, requestContext, requestIdOf } from '../http/request-context.js';
import { BearerStrategy } from './bearer.strategy.js';
import { isPublic, requiredScopes } from './scopes.js';
import { type Principal, PRINCIPAL, principalOf, refusalOf } from './token-verifier.js';

type AuthRequest = PlatformRequest & { [PRINCIPAL]?: Principal };

/**
 * Nest's guard with all its members. Its own type would bring the types of passport into the declarations for hosts.
 */
interface PassportGuard extends CanActivate {
  options: object;
  canActivate(context: ExecutionContext): Promise<boolean>;
  getRequest(context: ExecutionContext): AuthRequest;
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
  constructor(@Inject(BearerStrategy) strategy: BearerStrategy) {
    const options = { defaultStrategy: strategy.name, property: 'user', session: false };
    super(options);
    this.ownOptions = options;
  }

  /** Nest's guard calls `passport.authenticate()`, and then `handleRequest`. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http')
      throw new Error(
        `BearerAuthGuard protects routes of HTTP: protect handlers of "${context.getType()}" in another way`,
      );
    if (isPublic(context.getHandler(), context.getClass())) return true;
    // Nest has put the options of a PassportModule of the host here: another strategy, or another property.
    this.options = this.ownOptions;
    await super.canActivate(context);
    const { name = 'nobody', scopes = [] } = principalOf(this.getRequest(context)) ?? {};
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
    const request = this.getRequest(context);
    const reason = refusalOf(request) ?? 'An access token was refused: the verifier does not know it';
    // The strategy makes 40100 and 40102, and 50300 of a verifier that cannot decide. With a reason, it is the token's.
    if (error ? refusalOf(request) !== undefined : !principal) this.log(context, reason);
    if (error) throw error as Error;
    if (!principal) throw invalidToken();
    requestContext(this.getResponse(context)).token = (principal as Principal).name;
    return (request[PRINCIPAL] = principal as Principal);
  }

  private log(context: ExecutionContext, message: string): void {
    this.logger.log(message, { requestId: requestIdOf(this.getResponse(context)) });
  }
}
