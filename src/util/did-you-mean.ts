/** Names up to this length may have one typing error; longer ones two or, from twice the length on, three. */
const LENGTH_PER_SLIP = 6;
const MAX_SLIPS = 3;

/** The name that was probably meant by one that does not exist: the nearest, if it is near enough. */
export function findNearest(given: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.min(MAX_SLIPS, Math.ceil(given.length / LENGTH_PER_SLIP)) + 1;
  for (const name of names) {
    if (Math.abs(name.length - given.length) >= fewest) continue;
    const slips = countSlips(given.toLowerCase(), name.toLowerCase());
    if (slips < fewest) [nearest, fewest] = [name, slips];
  }
  return nearest;
}

/** How many letters have to be added, left out, replaced or swapped with the next: the optimal string alignment distance. */
function countSlips(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const slips = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= from.length; i++) {
    const row = (rows[i] = [i]);
    for (let j = 1; j <= to.length; j++) {
      const replaced = slips(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? slips(i - 2, j - 2) + 1 : Infinity;
      row.push(Math.min(slips(i, j - 1) + 1, slips(i - 1, j) + 1, replaced, swapped));
    }
  }
  return slips(from.length, to.length);
}
