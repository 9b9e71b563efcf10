import { asyncFaults, describeOption, givenOptions, unknownNames } from '../util/options.js';
import { accessTokensFault, StaticTokenVerifier } from './static-tokens.js';
import { AuthModuleOptionsError } from './auth-module-options.error.js';
import { issuedTokensFaults } from './tokens/issued-tokens-faults.js';
import type { IssuedTokensOptions } from './tokens/issued-tokens-options.js';
import { IssuedTokenVerifier } from './tokens/issued-token-verifier.js';
import { jwtFaults } from './jwt/jwt-faults.js';
import type { JwtOptions } from './jwt/jwt-options.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import type { CredentialLimitsOptions } from './credential-limits-options.js';
import { limitsFaults } from './limits-faults.js';
import { TokenVerifier, TokenVerifiers } from './token-verifier.js';

/** Which tokens are valid: at least one of the first three, or a verifier of the application's own. */
export interface AuthModuleOptions extends CredentialLimitsOptions {
  /** Tokens that are valid, each of at least 20 characters that a bearer token may have; they have all scopes. */
  accessTokens?: readonly string[] | undefined;
  /** The database that `plant-store token` issues tokens in. */
  issuedTokens?: IssuedTokensOptions | undefined;
  /** The OpenID Connect issuer whose JWTs are valid. */
  jwt?: JwtOptions | undefined;
  /** What else decides what a token is worth. */
  verifier?: TokenVerifier | undefined;
}

const SOURCES = ['accessTokens', 'issuedTokens', 'jwt'] as const satisfies (keyof AuthModuleOptions)[];
const OPTIONS: readonly (keyof AuthModuleOptions)[] = [...SOURCES, 'verifier', 'wrongTokenLimit', 'rateLimit'];

/** @throws AuthModuleOptionsError where the options can't work; JavaScript has no types, so all is checked */
export function verifierOf(options: unknown): TokenVerifier {
  const given = givenOptions(options);
  refuse([...unknownNames(given, OPTIONS), ...sourceFaults(given), ...limitsFaults(given)]);
  const { accessTokens, issuedTokens, jwt, verifier } = given as AuthModuleOptions;
  if (verifier) return verifier;
  return new TokenVerifiers([
    ...(accessTokens ? [new StaticTokenVerifier(accessTokens)] : []),
    ...(issuedTokens ? [new IssuedTokenVerifier(issuedTokens)] : []),
    ...(jwt ? [new JwtVerifier(jwt)] : []),
  ]);
}

/** Throws an AuthModuleOptionsError where something beside the factory would be ignored, or there is none. */
export function assertAsyncAuthOptions(options: unknown): void {
  refuse(asyncFaults(options, { extras: [], options: [...OPTIONS] }));
}

function sourceFaults(given: Record<string, unknown>): string[] {
  const { accessTokens, issuedTokens, jwt, verifier } = given;
  const sources = SOURCES.filter((name) => given[name] !== undefined);
  if (verifier === undefined) {
    if (sources.length === 0) {
      return ['accessTokens: is missing, should be an array of tokens; or give issuedTokens, jwt, or a verifier'];
    }
    return [...accessTokensFaults(accessTokens), ...issuedTokensFaults(issuedTokens), ...jwtFaults(jwt)];
  }
  if (sources.length > 0) return [`verifier: stands beside ${sources.join(' and ')}, should be left out, or those`];
  return typeof (Object(verifier) as Partial<TokenVerifier>).verify === 'function'
    ? []
    : [`verifier: ${describeOption(verifier)}, should be an object with a method verify: extend TokenVerifier`];
}

function accessTokensFaults(accessTokens: unknown): string[] {
  if (accessTokens === undefined) return [];
  if (!Array.isArray(accessTokens))
    return [`accessTokens: ${describeOption(accessTokens)}, should be an array of strings`];
  if (accessTokens.length === 0)
    return ['accessTokens: is empty, should have at least one token: nobody could ever get in'];
  const other = accessTokens.findIndex((token) => typeof token !== 'string');
  if (other >= 0)
    return [`accessTokens: token ${other + 1} ${describeOption(accessTokens[other])}, should be a string`];
  const fault = accessTokensFault(accessTokens as string[]);
  return fault === undefined ? [] : [`accessTokens: ${fault}`];
}

function refuse(faults: string[]): void {
  if (faults.length > 0) throw new AuthModuleOptionsError(faults);
}
