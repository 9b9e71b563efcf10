/** Of names up to this length, one typing error is taken for a slip; of longer ones two or, from twice the length on, three. */
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
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const [left = 0, above = 0, diagonal = 0] = [row[j - 1], last[j], last[j - 1]];
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(left + 1, above + 1, diagonal + (isSame ? 0 : 1), swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}
