import { ArrayNotEmpty, IsIn, IsNotEmpty, IsOptional, IsString, Matches, ValidateNested } from 'class-validator';
import { DatabaseAddress, DAY_MS, DEFAULT_STORAGE_TIMEOUT } from '../database/database.options.js';
import { assertValid, CheckedBy, IsIntBetween, optionsOf, type OptionsOf } from '../util/options.js';
import { ACCESS_TOKEN } from './static-token.verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** `@IsUrl()` takes a URL without slashes, and says nothing of a user or a fragment. */
export const IsServerUrl = () =>
  Matches(/^https?:\/\/[^\s/?#@]+(?:[/?][^\s#]*)?$/i, {
    message: '$property must be a URL such as https://id.example.com, without user and fragment',
  });
export const AreAccessTokens = () =>
  Matches(ACCESS_TOKEN, {
    each: true,
    message: 'each of $property must have 20 to 8192 letters, digits and -._~+/ alone, with = only at its end',
  });

export const AUTH_MODULE = 'PlantsAuthModule';

class IssuedTokens extends DatabaseAddress {
  /** Milliseconds to wait for the look-up of a token, 1 to 86400000 (a day). @defaultValue 5000 */
  @IsIntBetween(1, DAY_MS)
  timeout = DEFAULT_STORAGE_TIMEOUT;
}

/** The database of the tokens that `plant-store token` issues. It has the tables of the store. */
export type IssuedTokensOptions = OptionsOf<IssuedTokens, 'url'>;

class Jwt {
  /** The exact `iss` of the JWTs: the URL of an OpenID Connect issuer. */
  @IsServerUrl()
  issuer!: string;
  /** The `aud` of the JWTs. If you give several, a JWT must have one of them. */
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  @CheckedBy((audience) => (Array.isArray(audience) && audience.length === 0 ? 'should not be empty' : undefined))
  audience!: string | readonly string[];
  /** URL of the keys of the issuer (JWKS). @defaultValue the one in its OpenID Connect discovery document */
  @IsOptional()
  @IsServerUrl()
  jwksUrl?: string | undefined;
  /** The required `typ` of the JWTs (RFC 9068). @defaultValue none: `typ` may be `at+jwt`, `JWT` or missing */
  @IsOptional()
  @IsIn(['at+jwt'])
  typ?: 'at+jwt' | undefined;
}

/** The OpenID Connect issuer whose JWTs are access tokens. Their scopes come from `scope` or `scp`. */
export type JwtOptions = OptionsOf<Jwt, 'issuer' | 'audience'>;

export class PlantsAuthOptions {
  /** Static bearer tokens of at least 20 characters. Their only scope is `plants:create`. @defaultValue none */
  @IsOptional()
  @ArrayNotEmpty()
  @AreAccessTokens()
  accessTokens?: readonly string[] | undefined;
  /** The database of the tokens that `plant-store token` issues. @defaultValue none */
  @IsOptional()
  @ValidateNested()
  issuedTokens?: IssuedTokensOptions | undefined;
  /** The OpenID Connect issuer whose JWTs are valid. @defaultValue none */
  @IsOptional()
  @ValidateNested()
  jwt?: JwtOptions | undefined;
  /** A verifier of the application, instead of the three above. @defaultValue none */
  @CheckedBy(verifierFault)
  verifier?: TokenVerifier | undefined;
}

/** At least one of `accessTokens`, `issuedTokens` and `jwt`, or a `verifier` alone. */
export type PlantsAuthModuleOptions = OptionsOf<PlantsAuthOptions>;

/** Checks the options and adds the defaults. @throws OptionsError that names every fault */
export function authOptionsOf(given: unknown): PlantsAuthOptions {
  const options = optionsOf(PlantsAuthOptions, given);
  const { issuedTokens, jwt } = options;
  if (typeof issuedTokens === 'object') options.issuedTokens = optionsOf(IssuedTokens, issuedTokens);
  if (typeof jwt === 'object') options.jwt = optionsOf(Jwt, jwt);
  return assertValid(options, AUTH_MODULE);
}

function verifierFault(verifier: unknown, { accessTokens, issuedTokens, jwt }: PlantsAuthOptions): string | undefined {
  const hasOthers = (accessTokens ?? issuedTokens ?? jwt) !== undefined;
  const isVerifier = typeof (Object(verifier) as Partial<TokenVerifier>).verify === 'function';
  if (hasOthers ? verifier === undefined : isVerifier) return undefined;
  return 'must extend TokenVerifier and stand alone; or else give accessTokens, issuedTokens or jwt';
}
