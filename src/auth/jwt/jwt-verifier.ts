import type { Principal } from '../principal.js';
import { TokenVerifier } from '../token-verifier.js';
import type { JwtOptions } from './jwt-options.js';

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier {
  constructor(protected readonly options: JwtOptions) {
    super();
  }

  verify(_token: string): Promise<Principal | undefined> | Principal | undefined {
    return undefined;
  }
}
