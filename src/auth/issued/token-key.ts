import { hash } from 'node:crypto';

/** What a token is known by in memory: its digest, as one character for each byte, which is quickest to make and to find. */
export function tokenKey(token: string): string {
  return hash('sha256', token, 'binary');
}

export function keyOf(digest: Buffer): string {
  return digest.toString('binary');
}

export function digestOf(key: string): Buffer {
  return Buffer.from(key, 'binary');
}
