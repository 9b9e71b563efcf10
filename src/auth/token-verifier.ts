/** The limit of a name, which is stored with each plant. */
export const MAX_PRINCIPAL_NAME_LENGTH = 255;

/** The owner of a valid token: `request.user` behind `BearerAuthGuard`. */
export interface Principal {
  /**
   * A name that is logged and stored as the creator of a plant, never the token or anything derived from it.
   * It has 1 to 255 characters without U+0000 and lone surrogates; with any other name, a create is answered with
   * 50000.
   */
  readonly name: string;
  /** The scopes of the token, such as `plants:create`. */
  readonly scopes: readonly string[];
}

/**
 * Verifies bearer tokens. Extend it, and give it to `PlantsAuthModule` as `verifier`.
 *
 * @example
 * import { PlantsAuthModule, type PlantsAuthModuleOptions, type Principal, TokenVerifier } from 'plant-store';
 *
 * class SessionVerifier extends TokenVerifier {
 *   verify(token: string): Principal | undefined {
 *     return token === 'the-session-of-ann' ? { name: 'ann', scopes: ['plants:create'] } : undefined;
 *   }
 * }
 *
 * const options: PlantsAuthModuleOptions = { verifier: new SessionVerifier() };
 * export const AUTH = PlantsAuthModule.forRoot(options);
 */
export abstract class TokenVerifier {
  /**
   * Returns the owner of a token, or undefined if the token is unknown, expired or revoked. Throw or reject only if the
   * verifier cannot decide now: the client then gets 50300. An `ApiError` becomes the answer as it is.
   *
   * @param request the request of the platform
   */
  abstract verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined;
}

/** Several verifiers, asked in turn until one knows the token. */
export class TokenVerifierChain extends TokenVerifier {
  constructor(private readonly verifiers: readonly TokenVerifier[]) {
    super();
  }

  async verify(token: string, request?: unknown): Promise<Principal | undefined> {
    for (const verifier of this.verifiers) {
      const principal = await verifier.verify(token, request);
      if (principal !== undefined) return principal;
    }
    const found = `It has ${token.length} characters, and is none of those that this service knows`;
    if (refusalOf(request) === undefined) noteRefusal(request, `An access token was refused. ${found}`);
    return undefined;
  }
}

const REFUSAL = Symbol.for('plant-store:refusal');

/**
 * Keeps why a token was refused, with the value found and the value expected. It is for the log of the guard alone: the
 * client learns only that the token is not valid.
 */
export function noteRefusal(request: unknown, reason: string): void {
  if (typeof request === 'object' && request !== null) Reflect.set(request, REFUSAL, reason);
}

export function refusalOf(request: unknown): string | undefined {
  return (Object(request) as { [REFUSAL]?: string })[REFUSAL];
}
