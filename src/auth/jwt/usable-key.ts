import type { CryptoKey, JWTVerifyGetKey } from 'jose';
import { ALGORITHMS } from './jwt-rules.js';

type Jose = typeof import('jose');

/** Bits of an RSA key at least, by RFC 7518, section 3.3; jose tells of shorter ones only when a JWT is to be verified with one. */
const SHORTEST_RSA = 2048;

/** Whether any JWT can be verified with these keys: they may be private, short, broken, for something else, or none. */
export async function hasUsableKey(find: JWTVerifyGetKey, jose: Jose): Promise<boolean> {
  for (const alg of ALGORITHMS) {
    for await (const key of keysFor(alg, find, jose)) if (isLongEnough(key)) return true;
  }
  return false;
}

/** Those that a JWT may be signed with that does not name its key. */
async function* keysFor(alg: string, find: JWTVerifyGetKey, { errors }: Jose): AsyncGenerator<CryptoKey> {
  try {
    yield (await find({ alg }, { payload: '', signature: '' })) as CryptoKey;
  } catch (error) {
    // One alone that is broken fails in ways of its own.
    if (error instanceof errors.JWKSMultipleMatchingKeys) yield* error;
  }
}

function isLongEnough({ algorithm }: CryptoKey): boolean {
  const { modulusLength = Infinity } = algorithm as { modulusLength?: number };
  return modulusLength >= SHORTEST_RSA;
}
