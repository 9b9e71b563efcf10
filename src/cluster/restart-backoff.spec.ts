import { describe, expect, it } from '@jest/globals';
import { RestartBackoff } from './restart-backoff.js';

const OPTIONS = { first: 100, longest: 1000, sound: 5000 };

describe(RestartBackoff.name, () => {
  const pauses = (backoff: RestartBackoff, ...served: number[]): number[] => served.map((time) => backoff.pause(time));

  it('should double with each restart, up to the longest', () => {
    expect(pauses(new RestartBackoff(OPTIONS), 0, 0, 0, 0, 0, 0)).toEqual([100, 200, 400, 800, 1000, 1000]);
  });

  it('should begin anew once one has run well for a while, and not before', () => {
    expect(pauses(new RestartBackoff(OPTIONS), 0, 4999, 5000, 0, 60_000)).toEqual([100, 200, 100, 200, 100]);
  });

  it('should by default wait from a tenth of a second to half a minute', () => {
    const all = pauses(new RestartBackoff(), ...Array<number>(20).fill(0));
    expect([all[0], all.at(-1)]).toEqual([100, 30_000]);
  });
});
