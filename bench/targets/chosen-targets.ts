import type { Target } from './target.js';

const OTHER_BUILD = /^plant-store-\d+$/;

/** Those with the names given, in their own order; "plant-store" stands for all of its builds. */
export function chosenTargets(names: readonly string[], all: readonly Target[]): Target[] {
  const known = all.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new RangeError(`There is no target ${unknown.join(', ')}. There are ${known.join(', ')}.`);
  }
  return all.filter(({ name }) => names.includes(name) || (OTHER_BUILD.test(name) && names.includes('plant-store')));
}
