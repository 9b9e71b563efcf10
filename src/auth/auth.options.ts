import { isString } from 'class-validator';
import { DatabaseAddress, DEFAULT_STORAGE_TIMEOUT, schemaOfUrlFault } from '../database/database.options.js';
import {
  checkAsyncOptions,
  checkOptions,
  Choice,
  describeFound,
  type Given,
  Milliseconds,
  Nested,
  OptionsError,
  Rule,
  Should,
  WholeNumber,
} from '../util/options.js';
import { isHttpUrl } from '../util/text.js';
import { accessTokensFault } from './static-tokens.js';
import type { TokenVerifier } from './token-verifier.js';

/**
 * An `AuthModule` that can't work as it was configured. The message has a line for each fault: the option, and what would be
 * right, never a token.
 */
export class AuthModuleOptionsError extends OptionsError {
  override readonly name = 'AuthModuleOptionsError';

  constructor(faults: readonly string[]) {
    super('AuthModule', faults);
  }
}

/** What may hold a password, which must not be shown. */
const USER = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/)?[^/?#]*@/i;

/** The URL of something that is fetched over HTTP. */
export function HttpUrl({ query = false, required = false } = {}): PropertyDecorator {
  const should = `should be a URL such as https://id.example.com, without user${query ? '' : ', query'} or fragment`;
  return Rule((value, _options, found) => {
    if ((value === undefined && !required) || isHttpUrl(value, { query })) return undefined;
    return `${isString(value) && USER.test(value) ? 'holds a user or password' : found}, ${should}`;
  });
}

/** Requests or tokens per minute. */
export const RateLimit = WholeNumber(0, 1_000_000_000);

/** Messages name tokens by position only. At least one is required if nothing else says which tokens are valid. */
function tokensFault(tokens: unknown, options: AuthSettings, found: string): string | undefined {
  if (tokens === undefined) {
    return sourcesOf(options).length > 0 || options.verifier !== undefined
      ? undefined
      : 'is missing, should be an array of tokens; or give issuedTokens, jwt, or a verifier';
  }
  if (!Array.isArray(tokens)) return `${found}, should be an array of strings`;
  if (tokens.length === 0) return 'is empty, should have at least one token: nobody could ever get in';
  const other = tokens.findIndex((token) => !isString(token));
  return other < 0
    ? accessTokensFault(tokens as string[])
    : `token ${other + 1} ${describeFound(tokens[other])}, should be a string`;
}

function verifierFault(verifier: unknown, options: AuthSettings, found: string): string | undefined {
  if (verifier === undefined) return undefined;
  const sources = sourcesOf(options);
  if (sources.length > 0) return `is given in addition to ${sources.join(' and ')}, should be left out, or those`;
  return typeof (Object(verifier) as Partial<TokenVerifier>).verify === 'function'
    ? undefined
    : `${found}, should be an object with a method verify: extend TokenVerifier`;
}

function sourcesOf(options: AuthSettings): string[] {
  return (['accessTokens', 'issuedTokens', 'jwt'] as const).filter((name) => options[name] !== undefined);
}

class IssuedTokens extends DatabaseAddress {
  /** The schema that holds the store's tables; the URL's `schema`, or else `public`, unless given. */
  @Rule(schemaOfUrlFault)
  schema?: string | undefined;
  /**
   * Milliseconds that a request waits at most until its token is looked up, a day at most; 5000 unless given. A statement has one second,
   * always, so that revocations take effect in time.
   */
  @Milliseconds()
  timeout = DEFAULT_STORAGE_TIMEOUT;
}

/** Where issued tokens are: the database that `plant-store token` works on, which has the store's tables. */
export type IssuedTokensOptions = Given<IssuedTokens, 'url'>;

class Jwt {
  /** The `iss` of the JWTs, exactly: the URL of an OpenID Connect issuer. */
  @HttpUrl({ required: true })
  issuer!: string;
  /** The `aud` of the JWTs, or several, of which a JWT has to have one. */
  @Should(
    'what the "aud" of JWTs for this service has: a string that is not empty, or an array of such',
    (audience) => [audience].flat().length > 0 && [audience].flat().every((one) => isString(one) && one !== ''),
    true,
  )
  audience!: string | readonly string[];
  /** URL of the issuer's keys; what its OpenID Connect discovery document names unless given. */
  @HttpUrl({ query: true })
  jwksUrl?: string | undefined;
  /** The `typ` that JWTs must have: that of RFC 9068. Unless given it may be missing, or `JWT`. */
  @Choice(['at+jwt'])
  typ?: 'at+jwt' | undefined;
}

/** The issuer of the JWTs that are access tokens. */
export type JwtOptions = Given<Jwt, 'issuer' | 'audience'>;

/** The options, checked, with the defaults in place of what was not given. */
export class AuthSettings {
  /** Tokens that are valid, each of at least 20 characters that a bearer token may have; their one scope is `plants:create`. */
  @Rule(tokensFault)
  accessTokens?: readonly string[] | undefined;
  /** The database that `plant-store token` issues tokens in. */
  @Nested('{ url }: the database that the tokens are in', () => IssuedTokens)
  issuedTokens?: IssuedTokensOptions | undefined;
  /** The OpenID Connect issuer whose JWTs are valid. */
  @Nested('{ issuer, audience }: whose JWTs are access tokens', () => Jwt)
  jwt?: JwtOptions | undefined;
  /** A verifier of the application's own, instead of the others. */
  @Rule(verifierFault)
  verifier?: TokenVerifier | undefined;
  /**
   * Wrong tokens that one address may send in a minute, before more are refused with 42900; 100 unless given, 0 for any number.
   * An address is `request.ip`, as the application's platform has it.
   */
  @RateLimit
  wrongTokenLimit = 100;
  /** Requests that may be made with one token in a minute, before more are refused with 42900; any number unless given, or with 0. */
  @RateLimit
  rateLimit = 0;
}

/** Which tokens are valid: at least one of the first three, or a verifier of the application's own. */
export type AuthModuleOptions = Given<AuthSettings>;

/** @throws AuthModuleOptionsError if the options can't work */
export function authSettingsOf(options: unknown): AuthSettings {
  return checkOptions(AuthSettings, options, AuthModuleOptionsError);
}

/** Throws an AuthModuleOptionsError if something in addition to the factory would be ignored, or the factory is missing. */
export function checkAsyncAuthOptions(options: unknown): void {
  checkAsyncOptions(options, { options: AuthSettings }, AuthModuleOptionsError);
}
