import type { Principal } from './principal.js';

/** Decides what a bearer token is worth. */
export abstract class TokenVerifier {
  /** Resolves to nobody where the token is unknown, expired or revoked; rejects only where that can't be told now. */
  abstract verify(token: string): Promise<Principal | undefined> | Principal | undefined;
}
