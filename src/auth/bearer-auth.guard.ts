import { type CanActivate, type ExecutionContext, Inject, Injectable, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { IncomingMessage } from 'node:http';
import { Strategy, type VerifyFunction } from 'passport-http-bearer';
import {
  ApiError,
  credentialUndecided,
  insufficientScope,
  invalidToken,
  malformedAuthorization,
  missingCredential,
} from '../errors/api-error.js';
import { headerValues, nodeRequest, type PlatformRequest } from '../http/platform.js';
import { PRINCIPAL } from '../http/request-context.js';
import { BEARER_TOKEN } from './token-format.js';
import { type Principal, requiredScopes, TokenVerifier } from './token-verifier.js';

/** RFC 6750, section 2.1: `"Bearer" 1*SP b64token`; RFC 9110, section 11.1: the scheme is case-insensitive. */
const BEARER = new RegExp(`^bearer +(${BEARER_TOKEN})$`, 'i');
const OTHER_SCHEME = /^(?!bearer\b)[\w!#$%&'*+\-.^`|~]+(?: |$)/i;

type AuthRequest = PlatformRequest & { user?: Principal; [PRINCIPAL]?: Principal };
type Outcome = Readonly<{ error?: unknown; principal?: unknown }>;

/** The strategy of passport-http-bearer for one request, with the methods that passport would add. */
class BearerAttempt extends Strategy<VerifyFunction> {
  private outcome: Outcome | undefined;
  private settle = (outcome: Outcome): void => void (this.outcome = outcome);

  /** Returns no promise if `verify` returns none, because awaiting one would slow down each request. */
  decide(authorization: string): Outcome | Promise<Outcome> {
    try {
      // The strategy also takes tokens from query and body, so it gets the header alone.
      this.authenticate({ headers: { authorization } } as never);
    } catch (error) {
      this.error(error);
    }
    return this.outcome ?? new Promise((resolve) => (this.settle = resolve));
  }

  success(principal: unknown): void {
    this.settle({ principal });
  }

  fail(): void {
    this.settle({});
  }

  error(error: unknown): void {
    this.settle({ error });
  }
}

// The types of passport would become part of our declarations, and a host may have others or none.
const PassportGuard: Type<CanActivate & { getRequest(context: ExecutionContext): AuthRequest }> = AuthGuard();

/**
 * Accepts requests with a valid bearer token that has the scopes of `RequireScopes`. The store's route requires
 * `plants:create`. The `Principal` of the token becomes `request.user`. Import `PlantsAuthModule` where you use the
 * guard. On routes of your own, `ApiExceptionFilter` answers what the guard throws.
 * @throws {@link ApiError}: 40100, 40101 or 40102 if the credential is missing, not valid or malformed; 40300 if it
 * lacks the scope; 50300 if the verifier cannot decide now
 */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  // A private field `#verifier` would fail: the `instanceDecorator` of a host may put a Proxy in place of the guard.
  private readonly verifier: TokenVerifier;

  constructor(@Inject(TokenVerifier) verifier: TokenVerifier) {
    // No strategy is registered by this name: the registry is global, and two stores may run in one process.
    super({ defaultStrategy: 'bearer' });
    this.verifier = verifier;
  }

  /** Nest's version calls `passport.authenticate()`, which docs/adr/0008-passport.md explains. */
  override canActivate(context: ExecutionContext): true | Promise<true> {
    const request = this.getRequest(context);
    const attempt = new BearerAttempt({ realm: 'plants' }, (token, done) => {
      const verdict = this.verifier.verify(token, request);
      // Some promises are no instances of Promise, such as those of Prisma's client.
      if (typeof (Object(verdict) as PromiseLike<unknown>).then !== 'function') done(null, verdict);
      else Promise.resolve(verdict).then(done.bind(undefined, null), done);
    });
    const outcome = attempt.decide(authorizationOf(nodeRequest(request)));
    return outcome instanceof Promise
      ? outcome.then((later) => this.admit(request, context, later))
      : this.admit(request, context, outcome);
  }

  /** Nest's version answers every failure with 401 and sends no challenge. */
  handleRequest(error: unknown, principal: unknown): Principal {
    if (error !== undefined) throw error instanceof ApiError ? error : credentialUndecided(error);
    if (!principal) throw invalidToken();
    // A verifier in JavaScript may return anything, and a route without a scope would accept it.
    if (Array.isArray((principal as Partial<Principal>).scopes)) return principal as Principal;
    throw new TypeError(
      'verify() of a TokenVerifier has to return { name, scopes } or, if the token is not valid, nothing',
    );
  }

  private admit(request: AuthRequest, context: ExecutionContext, { error, principal }: Outcome): true {
    const user = this.handleRequest(error, principal);
    request.user = request[PRINCIPAL] = user;
    const required = requiredScopes(context.getHandler(), context.getClass());
    const lacking = required.filter((scope) => !user.scopes.includes(scope));
    if (lacking.length > 0) throw insufficientScope(required, lacking);
    return true;
  }
}

/** The `Authorization` header with one space: the strategy splits at each. Only the raw headers show a repetition. */
function authorizationOf(request: IncomingMessage): string {
  const [value, ...others] = headerValues(request, 'authorization');
  if (others.length > 0) throw malformedAuthorization('The Authorization header is repeated');
  const [, token] = BEARER.exec(value ?? '') ?? [];
  if (token !== undefined) return `Bearer ${token}`;
  if (value === undefined || OTHER_SCHEME.test(value)) throw missingCredential();
  throw malformedAuthorization('The Authorization header holds no well-formed bearer token');
}
