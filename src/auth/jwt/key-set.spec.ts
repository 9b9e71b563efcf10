import { describe, expect, it } from '@jest/globals';
import type { Principal } from '../token-verifier.js';
import { KeySet } from './key-set.js';

const PRINCIPAL: Principal = { name: 'gardener', scopes: ['plants:create'] };
/** Milliseconds from now. */
const LATER = 60_000;
/** Characters of each token here: 1024 of them are as long as all together may be. */
const LENGTH = 8192;

const token = (i: number): string => String(i).padStart(LENGTH, 'x');

describe(KeySet.name, () => {
  const empty = (): KeySet => new KeySet('{"keys":[]}', () => Promise.reject(new Error('there is no key')));

  it('should remember 8,388,608 characters of tokens at most, of those that came last', () => {
    const keySet = empty();
    const remember = (i: number): void => {
      keySet.remember(token(i), PRINCIPAL, Date.now() + LATER);
    };
    const isRemembered = (i: number): boolean => keySet.recall(token(i)) === PRINCIPAL;
    for (let i = 1; i <= 1024; i++) remember(i);
    expect(isRemembered(1)).toBe(true);

    // The one that was used a moment ago is not the oldest any more.
    remember(1025);
    expect([1, 2, 3, 1025].filter(isRemembered)).toEqual([1, 3, 1025]);

    for (let i = 1026; i <= 3000; i++) remember(i);
    const all = Array.from({ length: 3000 }, (_, i) => i + 1);
    expect(all.filter(isRemembered)).toEqual(all.slice(-1024));
  });

  it('should remember more of shorter ones', () => {
    const keySet = empty();
    const tokens = Array.from({ length: 5000 }, (_, i) => `a.b.${i}`);
    for (const each of tokens) keySet.remember(each, PRINCIPAL, Date.now() + LATER);
    expect(tokens.filter((each) => keySet.recall(each) !== PRINCIPAL)).toEqual([]);
  });
});
