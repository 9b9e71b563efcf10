import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional, type Type } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import { Strategy, type VerifyFunctionWithRequest } from 'passport-http-bearer';
import {
  ApiError,
  credentialUndecided,
  insufficientScope,
  invalidToken,
  malformedAuthorization,
  missingCredential,
} from '../errors/api-error.js';
import { headerValues, nodeRequest, type PlatformRequest } from '../http/platform.js';
import { AUTH_MODULE } from './auth.options.js';
import { describeFound, OptionsError } from '../util/options.js';
import { type Principal, setPrincipal, TokenVerifier } from './token-verifier.js';
import { BEARER_TOKEN, SCOPE } from './tokens/token.js';

const REQUIRED_SCOPES = 'plant-store:required-scopes';
/** RFC 6750, section 2.1: `"Bearer" 1*SP b64token`; RFC 9110, section 11.1: the scheme is case-insensitive. */
const BEARER = new RegExp(`^bearer +${BEARER_TOKEN}$`, 'i');
const OTHER_SCHEME = /^(?!bearer\b)[\w!#$%&'*+\-.^`|~]+(?: |$)/i;
/** The numbers of a token that is not valid, or cannot be one. */
const WRONG_TOKEN: readonly number[] = [40101, 40102];
const NO_PRINCIPAL =
  'verify() of the TokenVerifier has to return { name, scopes } or, if the token is not valid, nothing';
const WITHOUT_AUTH_MODULE =
  'imports: of a module that uses BearerAuthGuard is without AuthModule, should have AuthModule.forRoot({ accessTokens }), or the ' +
  'very object that forRoot() returned for the store';

/**
 * The scopes that a token needs, all of them, for a handler or for all handlers of a controller. What a handler requires counts instead of what
 * its controller requires. Several on one handler add up. A method that overrides another needs its own. Without it any valid token
 * passes. **Without `BearerAuthGuard` it has no effect**, and nothing warns.
 *
 * @param scopes at least one: visible ASCII characters without quotes and backslashes, such as `orders:read`
 * @throws TypeError if there is no scope, or one has other characters
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

/** What passport-http-bearer sees of a request: it would also take a token from the query or the body, so the header is all. */
type SeenRequest = Request & { readonly origin: PlatformRequest; readonly verifier: TokenVerifier };

const STRATEGY_OPTIONS = { realm: 'plants', passReqToCallback: true };

/** Has the verifier decide on a token. Most often it does so at once, and a promise would take its time. */
const verify: VerifyFunctionWithRequest = (request, token, done) => {
  const { origin, verifier } = request as SeenRequest;
  const decide = (principal: unknown): void => {
    done(null, principal);
  };
  const result: unknown = verifier.verify(token, origin);
  if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') decide(result);
  else (result as PromiseLike<unknown>).then(decide, done);
};

/** The result for a credential: its principal, undefined if it is not valid, or the error for which the verifier cannot decide. */
interface AuthResult {
  readonly error?: unknown;
  readonly principal?: Principal | undefined;
}

/** The strategy of passport-http-bearer for one request, with the methods that passport adds for its result. */
class BearerAttempt extends Strategy<VerifyFunctionWithRequest> {
  private result: AuthResult | undefined;
  private resolve: ((result: AuthResult) => void) | undefined;

  constructor() {
    super(STRATEGY_OPTIONS, verify);
  }

  /** The result, as soon as there is one. */
  decide(origin: PlatformRequest, verifier: TokenVerifier): AuthResult | Promise<AuthResult> {
    try {
      const headers = { authorization: bearerCredential(nodeRequest(origin)) };
      this.authenticate({ headers, origin, verifier } as unknown as SeenRequest);
    } catch (error) {
      this.error(error);
    }
    return this.result ?? new Promise((resolve) => (this.resolve = resolve));
  }

  success(principal: Principal): void {
    this.settle({ principal });
  }

  fail(): void {
    this.settle({});
  }

  error(error: unknown): void {
    this.settle({ error });
  }

  private settle(result: AuthResult): void {
    this.result = result;
    this.resolve?.(result);
  }
}

/** What the guards of an `AuthModule` have in common. */
@Injectable()
export class BearerStrategy {
  /** Requests that were refused for their token. */
  wrongTokens = 0;

  constructor(readonly verifier: TokenVerifier) {}
}

interface RequestGuard extends CanActivate {
  getRequest(context: ExecutionContext): unknown;
}

// Declared without the types of passport: these would reach the host, which may lack or have others of them.
const PassportGuard: Type<RequestGuard> = AuthGuard();

/**
 * Lets a request pass that has a valid bearer token, with the scopes that `RequireScopes` names: the store's route requires
 * `plants:create`. The `Principal` of the token becomes `request.user`. It needs `AuthModule` among the imports. On routes that are not the
 * store's, `ApiExceptionFilter` answers what it throws.
 *
 * @throws {@link ApiError}:
 * - 40100, 40101, 40102 if the credential is missing, wrong or malformed, and 40300 if it lacks the scope;
 * - 50300 if the verifier cannot decide now whether it is valid.
 * @example
 * ```ts
 * import { Controller, Get, Req, UseFilters, UseGuards } from '@nestjs/common';
 * import { ApiExceptionFilter, BearerAuthGuard, type Principal, RequireScopes } from 'plant-store';
 *
 * @Controller('orders')
 * @UseGuards(BearerAuthGuard)
 * @UseFilters(new ApiExceptionFilter('semantic'))
 * @RequireScopes('orders:read')
 * export class OrdersController {
 *   @Get()
 *   find(@Req() { user }: { user: Principal }): string {
 *     return `The orders of ${user.name}`;
 *   }
 * }
 * ```
 */
@Injectable()
export class BearerAuthGuard extends PassportGuard {
  // Not `#strategy`: a host's `instanceDecorator` may put a Proxy in place of the guard, which has no such fields.
  private readonly strategy: BearerStrategy;
  private last: { handler?: object | undefined; controller?: object | undefined; scopes: readonly string[] } = {
    scopes: [],
  };

  // Optional, so that a host without AuthModule gets a message about that, and not about injection.
  constructor(@Optional() @Inject(BearerStrategy) strategy: unknown) {
    if (strategy === undefined) throw new OptionsError(AUTH_MODULE, [WITHOUT_AUTH_MODULE]);
    // An object and not a name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy });
    this.strategy = strategy as BearerStrategy;
  }

  /** Nest's own version calls `passport.authenticate()`: see docs/adr/0021-passport.md. */
  override canActivate(context: ExecutionContext): true | Promise<true> {
    const request = this.getRequest(context) as PlatformRequest & { user?: unknown };
    const result = new BearerAttempt().decide(request, this.strategy.verifier);
    try {
      // No promise unless the verifier returns one: each request would wait for it.
      return result instanceof Promise
        ? result.then((later) => this.admit(request, context, later))
        : this.admit(request, context, result);
    } catch (failure) {
      const error = failure as Error;
      return Promise.reject(error);
    }
  }

  private admit(request: PlatformRequest & { user?: unknown }, context: ExecutionContext, result: AuthResult): true {
    const user = this.decide(result);
    request.user = user;
    setPrincipal(request, user);
    const required = this.scopesOf(context);
    const lacking = required.filter((scope) => !user.scopes.includes(scope));
    if (lacking.length > 0) throw insufficientScope(required, lacking);
    return true;
  }

  /** What `RequireScopes` has said of the handler, or else of its controller. */
  private scopesOf(context: ExecutionContext): readonly string[] {
    const handler = context.getHandler() as object | undefined;
    const controller = context.getClass() as object | undefined;
    // Most often the same as before, and metadata is slow to read.
    if (this.last.handler !== handler || this.last.controller !== controller) {
      // A context that the application makes may have no class.
      const of = (target: unknown): unknown => Reflect.getMetadata(REQUIRED_SCOPES, Object(target) as object);
      this.last = { handler, controller, scopes: (of(handler) ?? of(controller) ?? []) as readonly string[] };
    }
    return this.last.scopes;
  }

  private decide({ error, principal }: AuthResult): Principal {
    try {
      return this.handleRequest(error as Error | null, principal ?? false);
    } catch (failure) {
      if (failure instanceof ApiError && WRONG_TOKEN.includes(failure.error)) this.strategy.wrongTokens += 1;
      throw failure;
    }
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  handleRequest(error: Error | null, principal: Principal | false): Principal {
    if (error instanceof ApiError) throw error;
    if (error) throw credentialUndecided(error);
    if (!principal) throw invalidToken();
    // JavaScript may return anything, and a route without a scope would let it in.
    if (typeof principal.name !== 'string' || !Array.isArray(principal.scopes)) throw new TypeError(NO_PRINCIPAL);
    return principal;
  }
}

/** The `Authorization` header with one space, as passport-http-bearer has it. */
function bearerCredential(request: IncomingMessage): string {
  const values = headerValues(request, 'authorization');
  const [value] = values;
  if (value === undefined) throw missingCredential();
  if (values.length > 1) throw malformedAuthorization('The Authorization header is repeated');
  if (BEARER.test(value)) return value.lastIndexOf(' ') === 'bearer'.length ? value : value.replace(/ +/, ' ');
  if (OTHER_SCHEME.test(value)) throw missingCredential();
  throw malformedAuthorization('The Authorization header holds no well-formed bearer token');
}
