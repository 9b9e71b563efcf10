import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomOf, seedsOf, SimulatedTime } from '../../test/support/simulation.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';
import { makeToken, tokenKey } from './token-format.js';
import type { TokenRow, TokenLookup } from './token-lookup.js';

const SEEDS = 300;
const TIMEOUT = 3000;
const STATEMENT_TIMEOUT = 1000;
const PROMISED = 2000;
const LENGTH = 15_000;
const MAX_EVENTS = 20_000;
const TOKENS = Array.from({ length: 5 }, makeToken);

/** A token, valid from the first of its changes to the second, from the third to the fourth, and so on, until it expires. */
class SimulatedToken {
  readonly key: string;
  constructor(
    readonly token: string,
    private readonly changes: readonly number[],
    readonly expiresAt: number,
  ) {
    this.key = tokenKey(token);
  }

  isValid(at: number): boolean {
    return at < this.expiresAt && this.changes.filter((change) => change <= at).length % 2 === 1;
  }

  /** Whether it was, or was not, at some moment of this time. */
  wasEver(isValid: boolean, from: number, to: number): boolean {
    const moments = [from, ...[...this.changes, this.expiresAt].filter((change) => from < change && change <= to)];
    return moments.some((at) => this.isValid(at) === isValid);
  }

  rowAt(now: number, id: number): TokenRow {
    const remaining = this.expiresAt === Infinity ? null : this.expiresAt - now;
    const state = this.isValid(now) ? 'valid' : 'revoked';
    return { id, key: this.key, name: this.key, scopes: [], state, remaining, end: null };
  }
}

/** Makes requests with tokens that come and go, of a database that comes and goes. Returns what went wrong. */
async function simulate(seed: number): Promise<string[]> {
  const random = randomOf(seed);
  const time = new SimulatedTime();
  const faults: string[] = [];
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: Math.floor(random() * most) }, make);
  const moments = (most: number): number[] => some(most, () => random() * LENGTH).sort((one, other) => one - other);
  const tokens = TOKENS.map(
    (token) => new SimulatedToken(token, [0, ...moments(4)], random() < 0.3 ? random() * LENGTH : Infinity),
  );
  // Of the statements: no connection, a standby, an answer that does not come.
  const trouble = random() < 0.3 ? 0 : random() * 0.7;
  const latency = random() < 0.3 ? STATEMENT_TIMEOUT / 2 : 50;
  const away = moments(4);
  let inFlight = 0;
  let troubleAt = -Infinity;

  const ask = async (keys: readonly string[]): Promise<TokenRow[]> => {
    if ((inFlight += 1) > 1) faults.push('two statements at a time');
    const isAway = away.filter((moment) => moment <= time.now).length % 2 === 1;
    const fails = isAway || random() < trouble;
    const pause = (most: number): Promise<void> => new Promise((resolve) => time.after(random() * most, resolve));
    await pause(fails ? STATEMENT_TIMEOUT : latency);
    // Some are deleted in place of a revocation, and written again.
    const rows = tokens
      .map((token, id) => token.rowAt(time.now, id))
      .filter(({ id, key, state }) => keys.includes(key) && (state === 'valid' || id % 2 === 0));
    await pause(latency);
    inFlight -= 1;
    if (!fails) return rows;
    troubleAt = time.now;
    throw new Error('trouble');
  };
  const done = (): Promise<void> => Promise.resolve();
  const store = { assertReady: done, find: ask, recordUses: () => ask([]), end: done } as unknown as TokenLookup;
  const verifier = new IssuedTokenVerifier({ url: 'postgresql://db/plants', timeout: TIMEOUT }, store);

  const request = async (): Promise<void> => {
    const token = tokens[Math.floor(random() * tokens.length)];
    if (token === undefined) return;
    const begin = time.now;
    const outcome = await Promise.resolve(verifier.verify(token.token)).catch((error: unknown) => error);
    const { now } = time;
    const fault = (text: string): void => void faults.push(`${token.key.slice(0, 4)} ${begin} to ${now}: ${text}`);
    if (now > begin + TIMEOUT) fault('waited longer than a create');
    if (outcome instanceof Error && troubleAt < begin) fault('not decided, though the database answered');
    if (outcome === undefined && !token.wasEver(false, begin, now)) fault('refused, and valid');
    const isAccepted = !(outcome instanceof Error) && outcome !== undefined;
    if (isAccepted && !token.wasEver(true, now - PROMISED, now)) fault('accepted, and not valid');
    if (isAccepted && begin >= token.expiresAt) fault('accepted, and expired before');
  };
  const begin = (): void => {
    for (const at of moments(200)) time.after(at, () => void request());
    time.after(LENGTH + TIMEOUT, () => void verifier.onApplicationShutdown());
  };
  if ((await time.run(begin, MAX_EVENTS)) === MAX_EVENTS) faults.push('it does not end');
  return faults;
}

describe(IssuedTokenVerifier.name, () => {
  it('should refuse what was revoked for 2 s, and nothing valid while the database answers', async () => {
    Logger.overrideLogger(false);
    for (const seed of seedsOf(SEEDS)) expect([seed, ...(await simulate(seed))]).toEqual([seed]);
  }, 600_000);
});
