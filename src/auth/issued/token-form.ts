import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'plant_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Characters of chance: 190 bits. */
const RANDOM_LENGTH = 32;
/** Characters that a CRC-32 takes. */
const CHECKSUM_LENGTH = 6;
const LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new token. */
export function makeToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${PREFIX}${random}${checksum(random)}`;
}

/** Whether this is meant to be such a token, well-formed or not: a look at it that costs next to nothing. */
export function resemblesToken(text: string): boolean {
  return text.length === LENGTH && text.startsWith(PREFIX);
}

/** Whether this may have been issued: anything mistyped or cut short was not. */
export function isWellFormedToken(text: string): boolean {
  if (!FORM.test(text)) return false;
  const random = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return text.endsWith(checksum(random));
}

/** What is stored of a token, and cannot be turned back into it. */
export function tokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
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
