import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Of every issued token. */
export const PREFIX = 'plant_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 190 bits. */
const RANDOM_LENGTH = 32;
/** Characters that a CRC-32 takes. */
const CHECKSUM_LENGTH = 6;
const TOKEN = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** b64token of RFC 6750, section 2.1: what may follow "Bearer " in the header. */
export const BEARER_TOKEN = String.raw`[\w\-.~+/]+=*`;
/** scope-token of RFC 6749, section 3.3. */
export const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** No white space, quotes or control characters: names are in logs and scripts. A dash would begin an option. */
const NAME_RULES: readonly [rule: RegExp, fault: string][] = [
  [
    /^(?!-)[A-Za-z0-9._@/:+-]{1,100}$/,
    'must have 1 to 100 characters out of letters (A to Z), digits and ._@/:+-, and not begin with -',
  ],
  [/\D/, 'must not be made of digits alone, as the ids of access tokens are'],
  [/^(?!(?:static|jwt)$|jwt:)/i, 'must not be static or jwt, nor begin with jwt: these mean something else'],
];

/**
 * Issued tokens and JWTs, also those that were cut short: what a user may put on a command line or into a path by mistake. No text makes
 * the search slow: it gives up a beginning within 20 characters, or never.
 */
const TOKEN_LIKE = /plant_[0-9A-Za-z]{20,}|eyJ[\w.-]{17,}/g;

/** A new token. */
export function makeToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${PREFIX}${random}${checksum(random)}`;
}

/** Whether this may have been issued. A token that was mistyped or cut short was not. */
export function isWellFormedToken(text: string): boolean {
  return TOKEN.test(text) && text.endsWith(checksum(text.slice(PREFIX.length, -CHECKSUM_LENGTH)));
}

/** What is stored of a token, and cannot be turned back into it. */
export function tokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The digest as text. */
export function tokenKey(token: string): string {
  return hash('sha256', token, 'hex');
}

/** Why this cannot be the name of an access token, without repeating it; undefined if it can. */
export function tokenNameFault(name: string): string | undefined {
  if (withoutTokens(name) !== name) return 'must not look like an access token: a name is not secret, and a token is';
  return NAME_RULES.find(([rule]) => !rule.test(name))?.[1];
}

/** The text with a placeholder for each token. Console output may repeat arguments, and must not repeat a token. */
export function withoutTokens(text: string): string {
  return text.replace(TOKEN_LIKE, '[access token]');
}

/** CRC-32 of these characters, in base 62. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = `${ALPHABET[rest % ALPHABET.length] ?? ''}${digits}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
