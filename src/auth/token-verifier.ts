import type { Principal } from './principal.js';

/** Decides what a bearer token is worth. */
export abstract class TokenVerifier {
  /**
   * Resolves to nobody where the token is unknown, expired or revoked; rejects only where that can't be told now.
   *
   * @param request as the platform has it, for those to whom it matters who asks
   */
  abstract verify(token: string, request?: unknown): Promise<Principal | undefined> | Principal | undefined;
}
