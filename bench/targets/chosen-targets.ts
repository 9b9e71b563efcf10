import type { Target } from './target.js';

const OTHER_BUILD = /^plant-store-\d+$/;

/**
 * Those with the names given, in their own order, and what runs in their processes; "plant-store" means all of its
 * builds.
 */
export function chosenTargets(names: readonly string[], all: readonly Target[]): Target[] {
  const known = all.filter((target) => hostOf(target) === undefined).map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new RangeError(`There is no target ${unknown.join(', ')}. There are ${known.join(', ')}.`);
  }
  return all.filter((target) => {
    const name = hostOf(target) ?? target.name;
    return names.includes(name) || (OTHER_BUILD.test(name) && names.includes('plant-store'));
  });
}

function hostOf(target: Target): string | undefined {
  return target.kind === 'server' ? target.runsIn : undefined;
}
