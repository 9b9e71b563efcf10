import { describe, expect, it } from '@jest/globals';
import { LruMap } from './lru-map.js';

const ENTRIES = new Map([
  ['a', 1],
  ['b', 1],
  ['c', 1],
]);

describe(LruMap.name, () => {
  function filled(maxSize: number): LruMap<string, number> {
    const map = new LruMap<string, number>(maxSize, (size) => size);
    for (const [key, size] of ENTRIES) map.set(key, size);
    return map;
  }

  it('should forget what was set first, beyond its size', () => {
    expect([...filled(3).set('d', 1)]).toEqual([
      ['b', 1],
      ['c', 1],
      ['d', 1],
    ]);
  });

  it('should keep what was used, but not what was only looked at', () => {
    const map = filled(3);
    expect([map.get('a'), map.peek('b'), map.get('e')]).toEqual([1, 1, undefined]);
    expect([...map.set('d', 1).keys()]).toEqual(['c', 'a', 'd']);
  });

  it('should count the size of each entry, once', () => {
    const map = filled(4);
    map.set('c', 2);
    expect([...map.keys()]).toEqual(['a', 'b', 'c']);
    map.set('c', 3);
    expect([...map.keys()]).toEqual(['b', 'c']);
    map.delete('c');
    map.delete('c');
    map.set('d', 3);
    expect([...map.keys()]).toEqual(['b', 'd']);
  });

  it('should not keep what is larger than all of it', () => {
    expect([...filled(3).set('d', 4)]).toEqual([]);
  });

  it('should count entries unless a size is given', () => {
    const map = new LruMap<number, string>(1000);
    for (let key = 0; key < 3000; key++) map.set(key, 'x');
    expect([map.size, map.has(1999), map.has(2000)]).toEqual([1000, false, true]);
  });
});
