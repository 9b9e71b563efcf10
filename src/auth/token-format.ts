import { hash, randomInt } from 'node:crypto';

/** The prefix of every issued token. */
export const TOKEN_PREFIX = 'plant_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** These have 226 random bits. */
const RANDOM_LENGTH = 38;
export const ISSUED_TOKEN = new RegExp(`^${TOKEN_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH}}$`);

/** The b64token of RFC 6750, section 2.1. It follows "Bearer " in the header. */
export const BEARER_TOKEN = String.raw`[\w\-.~+/]+=*`;
/** The scope-token of RFC 6749, section 3.3. */
export const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Names stand in logs and scripts: no white space, quotes or control characters. A dash would begin an option. */
const NAME = /^(?!-|\d+$|static$|jwt(?:$|:))[A-Za-z0-9._@/:+-]{1,100}$/i;

/**
 * Issued tokens and JWTs, also shortened ones: a user may type one into a command line or a path by mistake. The
 * pattern fails within 20 characters, so no text makes the search slow.
 */
const TOKEN_LIKE = /plant_[0-9A-Za-z]{20,}|eyJ[\w.-]{17,}/g;

export function makeToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return `${TOKEN_PREFIX}${random.join('')}`;
}

/** The digest that is stored, in hexadecimal digits. Nobody can turn it back into the token. */
export function tokenDigest(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Explains why this is no name of a token, without repeating it; undefined if it is one. */
export function tokenNameFault(name: string): string | undefined {
  if (withoutTokens(name) !== name) return 'must not look like an access token: a name is not secret, and a token is';
  if (NAME.test(name)) return undefined;
  const right = 'must have 1 to 100 letters (A to Z), digits and ._@/:+-';
  return `${right}, not begin with - or jwt:, and be no number, static or jwt`;
}

/** Replaces each token with a placeholder. Console output may repeat arguments, but never a token. */
export function withoutTokens(text: string): string {
  return text.replace(TOKEN_LIKE, '[access token]');
}
