import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional, type Type } from '@nestjs/common';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import type { StrategyCreated } from 'passport';
import { Strategy } from 'passport-http-bearer';
import { ApiError } from '../errors/api-error.js';
import { headerValues, nodeRequest, type PlatformRequest, type PlatformResponse } from '../http/platform.js';
import {
  CredentialUndecidedError,
  InsufficientScopeError,
  InvalidTokenError,
  MalformedAuthorizationError,
  MissingCredentialError,
} from './auth.errors.js';
import { AuthModuleOptionsError } from './auth.options.js';
import { describeFound } from '../util/options.js';
import { CredentialLimits } from './rate-limits.js';
import {
  type Principal,
  setPrincipal,
  TokenVerifier,
  type WrongTokenReason,
  wrongTokenReasonOf,
} from './token-verifier.js';
import { BEARER_TOKEN, SCOPE } from './tokens/token.js';

/** A name of our own: passport keeps one registry a process, and a host application may have a `bearer` strategy. */
const STRATEGY_NAME = 'plant-store-bearer';
const REQUIRED_SCOPES = 'plant-store:required-scopes';
/** RFC 6750, section 2.1: `"Bearer" 1*SP b64token`; RFC 9110, section 11.1: the scheme is case-insensitive. */
const BEARER = new RegExp(`^bearer +(?<token>${BEARER_TOKEN})$`, 'i');
const OTHER_SCHEME = /^(?!bearer\b)[\w!#$%&'*+\-.^`|~]+(?: |$)/i;
const NO_PRINCIPAL =
  'verify() of the TokenVerifier has to return { name, scopes } or, where the token is not valid, nothing';
const WITHOUT_AUTH_MODULE =
  'imports: of a module that uses BearerAuthGuard is without AuthModule, should have AuthModule.forRoot({ accessTokens }), or the ' +
  'very object that forRoot() returned for the store';

/**
 * `BearerAuthGuard` lets only those tokens use the route, or all routes of the controller, that have all of these scopes. What a
 * handler requires counts instead of what its controller requires. Several of one handler add up. A method that overrides another
 * needs its own. Without that guard it has no effect.
 *
 * @throws TypeError where there is no scope, or one is none
 */
export function RequireScopes(...scopes: readonly string[]): ClassDecorator & MethodDecorator {
  const given: readonly unknown[] = scopes.length === 0 ? [undefined] : scopes;
  const wrong = given.findIndex((scope) => typeof scope !== 'string' || !SCOPE.test(scope));
  if (wrong >= 0) {
    throw new TypeError(
      `RequireScopes(): scope ${wrong + 1} ${describeFound(given[wrong], typeof given[wrong] === 'string')}, ` +
        'should be visible ASCII characters without quotes and backslashes, such as "plants:create"',
    );
  }
  return (target: object, _name?: string | symbol, method?: { value?: unknown }) => {
    const of = method?.value ?? target;
    const others = (Reflect.getOwnMetadata(REQUIRED_SCOPES, of) ?? []) as readonly string[];
    Reflect.defineMetadata(REQUIRED_SCOPES, [...new Set([...others, ...scopes])], of);
  };
}

/** What passport-http-bearer sees of a request, and the request itself. */
type SeenRequest = Request & { origin: PlatformRequest };

/** Takes the token from the `Authorization` header alone, and has the verifier decide on it. */
@Injectable()
class HeaderStrategy extends PassportStrategy(Strategy, STRATEGY_NAME) {
  constructor(private readonly verifier: TokenVerifier) {
    super({ realm: 'plants', passReqToCallback: true });
  }

  override authenticate(this: StrategyCreated<HeaderStrategy>, request: PlatformRequest): void {
    try {
      // passport-http-bearer would also take a token from the query or the body, so the header is all it sees.
      const headers = { authorization: `Bearer ${bearerToken(nodeRequest(request))}` };
      super.authenticate({ headers, origin: request } as SeenRequest);
    } catch (error) {
      this.error(error);
    }
  }

  async validate({ origin }: SeenRequest, token: string): Promise<Principal | false> {
    return (await this.verifier.verify(token, origin)) ?? false;
  }
}

interface RequestGuard extends CanActivate {
  getRequest(context: ExecutionContext): unknown;
}

// Both are declared without the types of passport: these would reach the host, which may lack or have others of them.
export type BearerStrategy = object;
export const BearerStrategy: new (verifier: TokenVerifier) => BearerStrategy = HeaderStrategy;
const PassportGuard: Type<RequestGuard> = AuthGuard();

/**
 * Lets a request pass that carries a valid bearer token, with the scopes that `RequireScopes` names: the store's route requires
 * `plants:create`. The `Principal` of the
 * token becomes `request.user`. It throws an `ApiError`:
 * - 40100, 40101, 40102 where the credential is missing, wrong or malformed, and 40300 where it lacks the scope;
 * - 42900 where its address has sent too many wrong ones, or too many requests were made with it;
 * - 50300 where the verifier cannot decide now whether it is valid.
 */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  // Not `#strategy`: a host's `instanceDecorator` may put a Proxy in place of the guard, which has no such fields.
  private readonly strategy: HeaderStrategy;
  private readonly limits: CredentialLimits;

  // Optional, so that a host without AuthModule gets a message about that, and not about injection.
  constructor(
    @Optional() @Inject(BearerStrategy) strategy: unknown,
    @Optional() @Inject(CredentialLimits) limits: unknown,
  ) {
    if (strategy === undefined) throw new AuthModuleOptionsError([WITHOUT_AUTH_MODULE]);
    // The strategy itself and not its name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy });
    this.strategy = strategy as HeaderStrategy;
    this.limits = limits as CredentialLimits;
  }

  /** Nest's own version calls `passport.authenticate()`: see docs/adr/0021-passport.md. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = this.getRequest(context) as PlatformRequest & { user?: unknown };
    const user = this.decide(request, await authenticate(request, this.strategy));
    request.user = user;
    setPrincipal(request, user);
    this.limits.countRequest(user, context.switchToHttp().getResponse<PlatformResponse>());
    // A context that the application makes may have no class.
    const of = (target: unknown): unknown => Reflect.getMetadata(REQUIRED_SCOPES, Object(target) as object);
    const required = (of(context.getHandler()) ?? of(context.getClass()) ?? []) as readonly string[];
    const lacking = required.filter((scope) => !user.scopes.includes(scope));
    if (lacking.length > 0) throw new InsufficientScopeError(required, lacking);
    return true;
  }

  private decide(request: PlatformRequest, { error, principal }: AuthResult): Principal {
    try {
      if (!error && !principal) this.limits.countWrongToken(request);
      return this.handleRequest(error, principal);
    } catch (failure) {
      const reason = wrongTokenReason(failure, request);
      if (reason !== undefined) this.limits.wrongTokensBy[reason] += 1;
      throw failure;
    }
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  handleRequest(error: Error | null, principal: Principal | false): Principal {
    if (error instanceof ApiError) throw error;
    if (error) throw new CredentialUndecidedError(error);
    if (!principal) throw new InvalidTokenError();
    // JavaScript may return anything, and a route without a scope would let it in.
    if (typeof principal.name !== 'string' || !Array.isArray(principal.scopes)) throw new TypeError(NO_PRINCIPAL);
    return principal;
  }
}

/** Undefined where the failure is none of the token. */
function wrongTokenReason(failure: unknown, request: PlatformRequest): WrongTokenReason | undefined {
  const reasons = { 40101: wrongTokenReasonOf(request), 40102: 'malformed', 42900: 'limited' } as const;
  return failure instanceof ApiError ? reasons[failure.error as keyof typeof reasons] : undefined;
}

function bearerToken(request: IncomingMessage): string {
  const values = headerValues(request, 'authorization');
  const [value] = values;
  if (value === undefined) throw new MissingCredentialError();
  if (values.length > 1) throw new MalformedAuthorizationError('The Authorization header is repeated');
  const token = BEARER.exec(value)?.groups?.token;
  if (token !== undefined) return token;
  if (OTHER_SCHEME.test(value)) throw new MissingCredentialError();
  throw new MalformedAuthorizationError('The Authorization header holds no well-formed bearer token');
}

/** The principal of a credential, false where it is not valid, or the error for which the verifier cannot decide. */
interface AuthResult {
  error: Error | null;
  principal: Principal | false;
}

/** Has a strategy decide on one request, as `passport.authenticate()` would. */
function authenticate(request: PlatformRequest, strategy: HeaderStrategy): Promise<AuthResult> {
  return new Promise((resolve) => {
    const attempt: unknown = new BearerAttempt(strategy, resolve);
    // Its own method, as that of a strategy in a Proxy may not take another `this`.
    (attempt as StrategyCreated<HeaderStrategy>).authenticate(request);
  });
}

/** The strategy for one request, with the methods that passport adds for its result. */
class BearerAttempt {
  constructor(
    strategy: HeaderStrategy,
    private readonly resolve: (result: AuthResult) => void,
  ) {
    Object.assign(this, strategy);
  }

  success(principal: Principal): void {
    this.resolve({ error: null, principal });
  }

  fail(): void {
    this.resolve({ error: null, principal: false });
  }

  error(error: Error): void {
    this.resolve({ error, principal: false });
  }
}

/** Once, and not with `Object.create()` for each: V8 does not know the shape of those. */
Object.setPrototypeOf(BearerAttempt.prototype, HeaderStrategy.prototype);
