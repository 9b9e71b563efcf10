/** Gives nothing else in this process a turn for a time. */
export function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
