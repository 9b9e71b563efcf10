import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { LruMap } from '../../util/lru-map.js';
import { reasonOf } from '../../util/text.js';
import type { JwtOptions } from '../auth.options.js';
import { type Principal, TokenVerifier } from '../token-verifier.js';
import { tokenKey } from '../tokens/token.js';
import { type FindKey, IssuerKeys, IssuerKeysError } from './issuer-keys.js';
import { endOf, evidentFault, EXPIRED, type Jose, jwtPrincipal, jwtRules } from './jwt-rules.js';

/** RFC 7515, section 3.1: header, payload and signature, in base64url. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Characters of the JWTs that are remembered, together: about ten thousand of a usual length. */
const MAX_REMEMBERED_LENGTH = 8_388_608;

interface Remembered {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** The keys of the issuer when it was verified: it counts only as long as these are in use. */
  readonly keys: string;
  /** Characters of the JWT. */
  readonly length: number;
}

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier implements OnApplicationShutdown {
  private readonly logger = new Logger('JWT');
  private readonly rules: JWTVerifyOptions;
  /** The keys are not the tokens themselves: a memory dump should hold as few tokens as possible. */
  private readonly remembered = new LruMap<string, Remembered>(MAX_REMEMBERED_LENGTH, ({ length }) => length);

  constructor(
    private readonly options: JwtOptions,
    private readonly keys = new IssuerKeys(options),
  ) {
    super();
    this.rules = jwtRules(options);
  }

  verify(token: string): Promise<Principal | undefined> | Principal | undefined {
    if (!JWT.test(token)) return undefined;
    const found = this.remembered.get(tokenKey(token));
    if (found !== undefined && found.keys === this.keys.current && Date.now() < found.until) return found.principal;
    return this.verifyJwt(token);
  }

  onApplicationShutdown(): void {
    this.keys.close();
  }

  private async verifyJwt(token: string): Promise<Principal | undefined> {
    // With its first import, so that a service that sees no JWT does not pay for it.
    const jose = await import('jose');
    let result: Principal | string | undefined = evidentFault(token, this.options.issuer, jose);
    if (result === undefined) {
      const find = await this.keys.open();
      result = await this.verifyWith(find, token, jose, !find.coolingDown);
    }
    if (typeof result !== 'string') return result;
    // For the operator alone: the client learns only that it is not valid.
    this.logger.debug(`A JWT is not valid: ${result}`);
    return undefined;
  }

  private async verifyWith(find: FindKey, token: string, jose: Jose, mayReload: boolean): Promise<Principal | string> {
    const keys = this.keys.current;
    try {
      const claims = await claimsOf(token, find, this.rules, jose);
      const principal = jwtPrincipal(claims);
      if (principal === undefined) return 'sub cannot be stored or logged';
      // If they have changed meanwhile, its key may be gone.
      if (keys !== undefined && keys === this.keys.current) {
        const until = endOf(Number(claims.exp));
        this.remembered.set(tokenKey(token), { principal, until, keys, length: token.length });
      }
      return principal;
    } catch (error) {
      if (error instanceof IssuerKeysError) throw error;
      // jose itself fetches keys for a name that it does not know. A new key without a name looks like a forged signature.
      const mayBeNew = isForged(error, jose) && jose.decodeProtectedHeader(token).kid === undefined;
      if (!mayBeNew || !mayReload) return faultOf(error, jose);
      await find.reload();
      return this.verifyWith(find, token, jose, false);
    }
  }
}

async function claimsOf(token: string, find: FindKey, rules: JWTVerifyOptions, jose: Jose): Promise<JWTPayload> {
  const { errors, jwtVerify } = jose;
  try {
    return (await jwtVerify(token, find, rules)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    // It does not name its key.
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, rules)).payload;
      } catch (failure) {
        // Another key, or one that can't be used, such as a short one.
        if (failure instanceof errors.JOSEError && !isForged(failure, jose)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function isForged(error: unknown, { errors }: Jose): boolean {
  return error instanceof errors.JWSSignatureVerificationFailed;
}

function faultOf(error: unknown, { errors }: Jose): string {
  if (error instanceof errors.JWTExpired) return EXPIRED;
  if (error instanceof errors.JWKSNoMatchingKey) return 'it is signed with a key that the issuer does not have';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `${error.claim} is ${error.reason === 'missing' ? 'missing' : 'not as it should be'}`;
  // Messages of jose may repeat some of the token. Other errors are of keys that can't be used.
  return error instanceof errors.JOSEError ? error.code : reasonOf(error);
}
