import { PRINCIPAL } from '../http/platform.js';

/** What a token must have to create plants. */
export const CREATE_PLANTS = 'plants:create';

/** The owner of a valid token. */
export interface Principal {
  /**
   * A name that is safe to log and to store: never the token or anything derived from it. 1 to 255 characters, without U+0000 and
   * lone surrogates; with any other name a create is answered with 50000. It becomes the creator of the plant.
   */
  readonly name: string;
  /** What the token may be used for; `plants:create` to create plants. */
  readonly scopes: readonly string[];
}

/**
 * Decides what a bearer token is worth. Extend it, and give it to `AuthModule` as `verifier`.
 *
 * @example
 * import { AuthModule, type Principal, TokenVerifier } from 'plant-store';
 *
 * class SessionVerifier extends TokenVerifier {
 *   verify(token: string): Principal | undefined {
 *     return token === 'the-session-of-ann' ? { name: 'ann', scopes: ['plants:create'] } : undefined;
 *   }
 * }
 *
 * export const AUTH = AuthModule.forRoot({ verifier: new SessionVerifier() });
 */
export abstract class TokenVerifier {
  /**
   * The owner of a token, or a promise of it; undefined if the token is unknown, expired or revoked. Throw or reject only if the verifier
   * cannot decide now: the answer is then 50300, and nothing was written.
   *
   * @param request as the platform has it, if it matters who asks
   */
  abstract verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined;
}

/** Several verifiers, asked in turn until one knows the token. */
export class TokenVerifiers extends TokenVerifier {
  constructor(private readonly verifiers: readonly TokenVerifier[]) {
    super();
  }

  /** Not `async`: most often the answer is there at once. @param first position of the first verifier to ask */
  verify(token: string, request?: unknown, first = 0): Promise<Principal | undefined> | Principal | undefined {
    for (let index = first; index < this.verifiers.length; index++) {
      const result = this.verifiers[index]?.verify(token, request);
      if (result instanceof Promise)
        return result.then((principal) => principal ?? this.verify(token, request, index + 1));
      if (result !== undefined) return result;
    }
    return undefined;
  }
}

/** A token that was valid once. */
export interface RefusedToken {
  readonly name: string;
  readonly reason: 'expired' | 'revoked';
}

const WRONG_TOKEN = Symbol('why the token is wrong');

interface Authenticated {
  [PRINCIPAL]?: Principal;
  [WRONG_TOKEN]?: RefusedToken;
}

/** The result of a verifier that may know why a token is invalid. The reason is for the log; no answer has it. */
export function refuseToken(request: unknown, refused: RefusedToken | undefined): Principal | undefined {
  if (request !== undefined && refused !== undefined) (request as Authenticated)[WRONG_TOKEN] = refused;
  return undefined;
}

/** What is known of the token that this request was refused for; undefined if that is nothing. */
export function refusedTokenOf(request: object): RefusedToken | undefined {
  return (request as Authenticated)[WRONG_TOKEN];
}

export function setPrincipal(request: object, principal: Principal): void {
  (request as Authenticated)[PRINCIPAL] = principal;
}

/** The principal that `BearerAuthGuard` found for this request; undefined if it found none. */
export function principalOf(request: object): Principal | undefined {
  return (request as Authenticated)[PRINCIPAL];
}
