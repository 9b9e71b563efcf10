import { accessTokensFault } from './access-tokens-fault.js';
import { AuthModuleOptionsError } from './auth-module-options.error.js';
import { StaticTokenVerifier } from './static-token-verifier.js';
import { TokenVerifier } from './token-verifier.js';

/** Exactly one of these. */
export interface AuthModuleOptions {
  /** Tokens that are valid as they stand, each of 20 characters or more. */
  accessTokens?: readonly string[];
  /** What else decides what a token is worth. */
  verifier?: TokenVerifier;
}

/** @throws AuthModuleOptionsError where the options can't work */
export function verifierOf(options: AuthModuleOptions): TokenVerifier {
  const { accessTokens, verifier } = options;
  if ((accessTokens === undefined) === (verifier === undefined)) {
    throw new AuthModuleOptionsError(
      `AuthModule takes \`accessTokens\` or a \`verifier\`, and was given ${verifier ? 'both: leave one out' : 'neither'}.`,
    );
  }
  if (accessTokens === undefined) {
    if (typeof verifier?.verify === 'function') return verifier;
    throw new AuthModuleOptionsError(
      'The option `verifier` of AuthModule must be an object with a method `verify`: extend TokenVerifier.',
    );
  }
  if (!Array.isArray(accessTokens) || accessTokens.some((token) => typeof token !== 'string')) {
    throw new AuthModuleOptionsError('The option `accessTokens` of AuthModule must be an array of strings.');
  }
  const fault = accessTokensFault(accessTokens);
  if (fault !== undefined) throw new AuthModuleOptionsError(`The option \`accessTokens\` of AuthModule: ${fault}.`);
  return new StaticTokenVerifier(accessTokens);
}
