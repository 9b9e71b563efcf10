import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { JWTVerifyOptions } from 'jose';
import { reasonOf } from '../../util/text.js';
import { LogThrottle } from '../log-throttle.js';
import type { Principal } from '../principal.js';
import { TokenVerifier } from '../token-verifier.js';
import { IssuerKeys } from './issuer-keys.js';
import type { JwtOptions } from '../auth.options.js';
import { jwtPrincipal } from './jwt-principal.js';
import { endOf, evidentFault, jwtRules } from './jwt-rules.js';
import type { KeySet } from './key-set.js';
import { verifyWith } from './verify-with.js';

/** RFC 7515, section 3.1: header, payload and signature, in base64url. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Each fault is told of once in a minute. */
const EXPLAINED_EVERY_MS = 60_000;
const UNKNOWN_KEY = 'it is signed with a key that the issuer does not have';

/** Accepts JWTs of one issuer. */
export class JwtVerifier extends TokenVerifier implements OnApplicationShutdown {
  private readonly logger = new Logger('JWT');
  private readonly rules: JWTVerifyOptions;
  private readonly throttle = new LogThrottle(EXPLAINED_EVERY_MS);

  constructor(
    private readonly options: JwtOptions,
    private readonly keys = new IssuerKeys(options),
  ) {
    super();
    this.rules = jwtRules(options);
  }

  verify(token: string): Promise<Principal | undefined> | Principal | undefined {
    if (!JWT.test(token)) return undefined;
    return this.keys.current?.recall(token) ?? this.verifyJwt(token);
  }

  onApplicationShutdown(): void {
    this.keys.close();
  }

  private async verifyJwt(token: string): Promise<Principal | undefined> {
    const verdict = await this.verdictOn(token);
    if (typeof verdict !== 'string') return verdict;
    this.explain(verdict);
    return undefined;
  }

  /** To the operator: who sends it is not told more than that it is not valid, and should not fill the log either. */
  private explain(fault: string): void {
    if (this.throttle.isDue(fault)) this.logger.debug(`A JWT is not valid: ${fault}`);
  }

  /** Whom it stands for, or why for nobody. */
  private async verdictOn(token: string): Promise<Principal | string> {
    // With its first import, so that a service that sees no JWT does not pay for it.
    const fault = evidentFault(token, this.options.issuer, await import('jose'));
    if (fault !== undefined) return fault;
    const keySet = this.keys.current ?? (await this.keys.otherThan(undefined));
    const verdict = await this.verdictBy(keySet, token);
    return verdict === UNKNOWN_KEY ? this.verdictBy(await this.keys.otherThan(keySet), token) : verdict;
  }

  private async verdictBy(keySet: KeySet | undefined, token: string): Promise<Principal | string> {
    if (keySet === undefined) return UNKNOWN_KEY;
    try {
      const claims = await verifyWith(keySet, token, this.rules);
      const principal = jwtPrincipal(claims);
      if (principal === undefined) return 'sub cannot be stored or logged';
      keySet.remember(token, principal, endOf(Number(claims.exp)));
      return principal;
    } catch (error) {
      return await this.faultOf(error, token);
    }
  }

  private async faultOf(error: unknown, token: string): Promise<string> {
    const { decodeProtectedHeader, errors } = await import('jose');
    if (error instanceof errors.JWKSNoMatchingKey) return UNKNOWN_KEY;
    // Where keys have no names, a new one can't be told from a forged signature.
    if (error instanceof errors.JWSSignatureVerificationFailed && decodeProtectedHeader(token).kid === undefined) {
      return UNKNOWN_KEY;
    }
    if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
      return `${error.claim} is ${error.reason === 'missing' ? 'missing' : 'not as it should be'}`;
    }
    // Messages of jose may repeat some of the token. Other errors are of keys that can't be used.
    return error instanceof errors.JOSEError ? error.code : reasonOf(error);
  }
}
