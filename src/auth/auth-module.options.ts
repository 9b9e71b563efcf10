import { describeOption, givenOptions, unknownNames } from '../options/option-faults.js';
import { asyncFaults } from '../options/async-faults.js';
import { accessTokensFault } from './access-tokens-fault.js';
import { AuthModuleOptionsError } from './auth-module-options.error.js';
import { StaticTokenVerifier } from './static-token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Exactly one of these. */
export interface AuthModuleOptions {
  /** Tokens that are valid as they stand: at least one, each of 20 characters or more. */
  accessTokens?: readonly string[];
  /** What else decides what a token is worth. */
  verifier?: TokenVerifier;
}

const OPTIONS = ['accessTokens', 'verifier'] satisfies (keyof AuthModuleOptions)[];

/** @throws AuthModuleOptionsError where the options can't work; JavaScript has no types, so all is checked */
export function verifierOf(options: unknown): TokenVerifier {
  const given = givenOptions(options);
  const { accessTokens, verifier } = given;
  refuse([...unknownNames(given, OPTIONS), ...faultsOf(accessTokens, verifier)]);
  return (verifier as TokenVerifier | undefined) ?? new StaticTokenVerifier(accessTokens as string[]);
}

/** Throws an AuthModuleOptionsError where something beside the factory would be ignored, or there is none. */
export function assertAsyncAuthOptions(options: unknown): void {
  refuse(asyncFaults(options, { extras: [], options: OPTIONS }));
}

function faultsOf(accessTokens: unknown, verifier: unknown): string[] {
  if (accessTokens === undefined && verifier === undefined) {
    return ['accessTokens: is missing, should be an array of tokens; or give a verifier'];
  }
  if (accessTokens !== undefined && verifier !== undefined) {
    return ['verifier: stands beside accessTokens, should be left out, or those'];
  }
  if (accessTokens === undefined) {
    return typeof (Object(verifier) as Partial<TokenVerifier>).verify === 'function'
      ? []
      : [`verifier: ${describeOption(verifier)}, should be an object with a method verify: extend TokenVerifier`];
  }
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
