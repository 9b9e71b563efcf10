import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { randomOf, seedsOf, SimulatedTime } from '../../test/support/simulation.js';
import { IssuedTokenVerifier } from './issued-token.verifier.js';
import { makeToken, tokenDigest } from './token-format.js';

declare const SIMULATION_SEEDS: number | string;

/** A tenth of those of the batch writer, as a seed takes longer. */
const SEEDS = Number(SIMULATION_SEEDS) / 10;
const TIMEOUT = 3000;
/** The time limit of a statement. */
const STATEMENT_MS = 1000;
const PROMISED_MS = 2000;
const LENGTH = 15_000;
const MAX_EVENTS = 20_000;
const MAX_TOKENS = 10_000;
const TOKENS = Array.from({ length: 5 }, makeToken);

/** A token that is valid from its first change to its second, from the third to the fourth, and so on. */
class SimulatedToken {
  readonly key: string;
  /** When the database was asked, for the last answer that it is valid. */
  confirmedAt = -Infinity;

  constructor(
    readonly token: string,
    private readonly changes: readonly number[],
    readonly expiresAt: number,
  ) {
    this.key = tokenDigest(token);
  }

  isValid(at: number): boolean {
    return at < this.expiresAt && this.changes.filter((change) => change <= at).length % 2 === 1;
  }

  /** Whether it was, or was not, at some moment of this time. */
  wasEver(isValid: boolean, from: number, to: number): boolean {
    const moments = [from, ...[...this.changes, this.expiresAt].filter((change) => from < change && change <= to)];
    return moments.some((at) => this.isValid(at) === isValid);
  }

  rowAt(now: number, id: number) {
    const remaining = this.expiresAt === Infinity ? null : this.expiresAt - now;
    const state = this.isValid(now) ? 'valid' : 'revoked';
    return { id, digest: this.key, name: this.key, scopes: [], state, remaining };
  }
}

type Verify = (rows: object[], sentAt: number) => void;

function verifierOn(find: (digests: string[], verify: Verify) => Promise<object[]>): IssuedTokenVerifier {
  const execute = (_sql: string, [digests]: [string[]], verify: Verify) => find(digests, verify);
  const pool = { schema: 'public', execute };
  return new IssuedTokenVerifier({ url: 'postgresql://db/plants', timeout: TIMEOUT }, pool as never);
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
  // No connection, a standby, an answer that does not come.
  const trouble = random() < 0.3 ? 0 : random() * 0.7;
  const latency = random() < 0.3 ? STATEMENT_MS / 2 : 50;
  const away = moments(4);
  let inFlight = 0;
  let isConnected = false;
  /** When trouble ended. */
  let troubleAt = -Infinity;
  const pause = (most: number): Promise<void> => new Promise((resolve) => time.after(random() * most, resolve));

  const find = async (keys: string[], verify: Verify) => {
    if ((inFlight += 1) > 1) faults.push('two statements at a time');
    const isAway = away.filter((moment) => moment <= time.now).length % 2 === 1;
    const fails = isAway || random() < trouble;
    if (fails) troubleAt = Infinity;
    // A database far away that does not answer, or does so late.
    if (!isConnected) await pause(fails ? TIMEOUT : TIMEOUT / 4);
    const sentAt = time.now;
    await pause(fails ? STATEMENT_MS : latency);
    // Some are deleted in place of a revocation, and written again.
    const found = tokens.filter((token, id) => keys.includes(`\\x${token.key}`) && (token.isValid(time.now) || id % 2));
    const rows = found.map((token) => token.rowAt(time.now, tokens.indexOf(token)));
    // A process that stalls sees an answer late, and before its own time limit.
    const stalls = random() < trouble / 4;
    if (stalls) troubleAt = Infinity;
    await pause(stalls ? TIMEOUT : latency);
    if (stalls) troubleAt = time.now;
    inFlight -= 1;
    isConnected = !fails;
    if (fails) {
      troubleAt = time.now;
      throw new Error('trouble');
    }
    for (const token of tokens) if (keys.includes(`\\x${token.key}`)) token.confirmedAt = -Infinity;
    for (const [at, token] of found.entries()) if (rows[at]?.state === 'valid') token.confirmedAt = sentAt;
    verify(rows, sentAt);
    return rows;
  };
  const verifier = verifierOn(find);

  const request = async (): Promise<void> => {
    const token = tokens[Math.floor(random() * tokens.length)];
    if (token === undefined) return;
    const begin = time.now;
    const fault = (text: string): void => void faults.push(`${token.key.slice(0, 4)} ${begin} to ${time.now}: ${text}`);
    const verdict = verifier.verify(token.token);
    const isKnown = begin < token.confirmedAt + PROMISED_MS && begin < token.expiresAt - STATEMENT_MS;
    if (isKnown && verdict instanceof Promise) fault('waited, though it was confirmed');
    const outcome = await Promise.resolve(verdict).catch((error: unknown) => error);
    const { now } = time;
    if (now > begin + TIMEOUT) fault('waited longer than a create');
    if (outcome instanceof Error && troubleAt < begin) fault('not decided, though the database answered');
    if (outcome === undefined && !token.wasEver(false, begin, now)) fault('refused, and valid');
    const isAccepted = !(outcome instanceof Error) && outcome !== undefined;
    if (isAccepted && !token.wasEver(true, now - PROMISED_MS, now)) fault('accepted, and not valid');
    if (isAccepted && begin >= token.expiresAt) fault('accepted, and expired before');
  };
  const begin = (): void => {
    for (const at of moments(200)) time.after(at, () => void request());
  };
  if ((await time.run(begin, MAX_EVENTS)) === MAX_EVENTS) faults.push('it does not end');
  return faults;
}

describe(IssuedTokenVerifier.name, () => {
  it('should refuse what was revoked for 2 s, and nothing valid while the database answers', async () => {
    Logger.overrideLogger(false);
    for (const seed of seedsOf(SEEDS)) expect([seed, ...(await simulate(seed))]).toEqual([seed]);
  }, 3_600_000);

  it('should not refuse a token whose look-up failed at the last moment', async () => {
    const verifier = verifierOn(() => {
      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + TIMEOUT);
      return Promise.reject(new Error('away'));
    });
    await expect(verifier.verify(makeToken())).rejects.toThrow('away');
    jest.restoreAllMocks();
  });

  it('should look up ten thousand together, refuse more, and hold up no token that is known', async () => {
    const [known = ''] = TOKENS;
    const row = { digest: tokenDigest(known), name: 'known', scopes: [], state: 'valid', remaining: null };
    const asked: number[] = [];
    let answer = Promise.resolve();
    const verifier = verifierOn(async (digests, verify) => {
      asked.push(digests.length);
      verify([], performance.now());
      await answer;
      return digests.includes(`\\x${row.digest}`) ? [row] : [];
    });
    const principal = { name: 'known', scopes: [] };
    expect(await verifier.verify(known)).toEqual(principal);
    let end: () => void = () => undefined;
    answer = new Promise((resolve) => (end = resolve));
    const first = verifier.verify(makeToken());
    await setImmediate();
    // Two requests with one token are one look-up.
    const tokens = Array.from({ length: MAX_TOKENS }, makeToken);
    const wrong = [String(tokens[0]), ...tokens].map((token) => Promise.resolve(verifier.verify(token)));
    await expect(verifier.verify(makeToken())).rejects.toMatchObject({ error: 50301 });
    expect(verifier.verify(known)).toEqual(principal);
    end();
    expect(new Set([await first, ...(await Promise.all(wrong))])).toEqual(new Set([undefined]));
    expect(asked).toEqual([1, 1, MAX_TOKENS]);
  });
});
