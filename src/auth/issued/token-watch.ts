import type { TokenCache } from './token-cache.js';
import { digestOf, keyOf } from './token-key.js';
import type { TokenStore, TokenStoreEvents } from './token-store.js';
import { TokenStoreHealth } from './token-store-health.js';
import { UseRecorder } from './use-recorder.js';
import { rejectBatch, resolveBatch, type WaitingLookups } from './waiting-lookups.js';
import { Wakeable } from './wakeable.js';
import type { UnknownTokens } from './unknown-tokens.js';

/** Milliseconds from one check of all tokens in the cache to the next, where no change was told of. */
const CHECK_EVERY_MS = 500;
/** Milliseconds between two checks, however many changes are told of. */
const CHECK_GAP_MS = 50;
/** Milliseconds from one look-up to the next: fifty a second, whatever comes. */
const LOOKUP_GAP_MS = 20;
/** Tokens that one look-up asks for at most. */
const LOOKUP_SIZE = 500;
/** Milliseconds that the connection is kept with nothing to watch. */
const LINGER_MS = 10_000;

/** What the watch works for. */
export interface Watched {
  readonly cache: TokenCache;
  readonly unknown: UnknownTokens;
  readonly lookups: WaitingLookups;
}

/**
 * Looks up tokens, and watches those in the cache, as long as there are any. One statement at a time on one connection, each applied
 * before the next is sent: so no answer is overtaken by another, and what was looked up before a change is checked after it.
 */
export class TokenWatch implements TokenStoreEvents {
  private running: Promise<void> | undefined;
  private stopped = false;
  private readonly pause = new Wakeable();
  private readonly recorder: UseRecorder;
  private changes = 0;
  private checkAt = 0;
  private checkedAt = 0;
  private lookUpAt = 0;
  private lingerUntil = 0;

  constructor(
    private readonly store: TokenStore,
    private readonly watched: Watched,
    private readonly health: TokenStoreHealth,
  ) {
    this.recorder = new UseRecorder(store, watched.cache);
  }

  /** To be called when something waits to be looked up. */
  start(): void {
    this.pause.wake();
    this.running ??= this.run();
  }

  /** Resolves when nothing is under way any more, and what was used is recorded, as far as that is possible. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.watched.lookups.rejectAll(new Error('the application shuts down'));
    this.pause.wake();
    await this.running;
  }

  changed(): void {
    this.changes += 1;
    this.watched.unknown.clear();
    this.checkAt = Math.min(this.checkAt, this.checkedAt + CHECK_GAP_MS);
    this.pause.wake();
  }

  lost(error: Error): void {
    this.fail(error);
    this.pause.wake();
  }

  private async run(): Promise<void> {
    do {
      while (this.isNeeded()) await this.next();
      if (this.stopped) await this.recorder.finish();
      await this.store.close();
    } while (this.isNeeded());
    this.running = undefined;
  }

  private isNeeded(): boolean {
    if (this.stopped) return false;
    const { cache, lookups } = this.watched;
    return cache.size + lookups.size > 0 || (this.store.isOpen && performance.now() < this.lingerUntil);
  }

  /** Waits for what is due first, and does it. */
  private async next(): Promise<void> {
    const { cache, lookups } = this.watched;
    const connectAt = this.store.isOpen ? Infinity : this.health.retryAt;
    const usable = connectAt === Infinity;
    const checkAt = usable && cache.size > 0 ? this.checkAt : Infinity;
    const lookUpAt = usable && lookups.size > 0 ? this.lookUpAt : Infinity;
    const closeAt = usable && cache.size + lookups.size === 0 ? this.lingerUntil : Infinity;
    const wait = Math.min(connectAt, checkAt, lookUpAt, closeAt) - performance.now();
    if (wait > 0) return this.pause.sleep(wait);
    try {
      if (!usable) await this.connect();
      else if (closeAt === Infinity) await (checkAt <= lookUpAt ? this.check() : this.lookUp());
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private async connect(): Promise<void> {
    await this.store.open(this, this.health.connectLimit);
    // Nobody told of what happened meanwhile.
    this.changed();
    this.checkAt = 0;
    this.lingerUntil = performance.now() + LINGER_MS;
  }

  private async check(): Promise<void> {
    const { cache } = this.watched;
    const askedAt = performance.now();
    this.checkedAt = askedAt;
    this.checkAt = askedAt + CHECK_EVERY_MS;
    const ended = cache.confirm(await this.store.check(cache.ids), askedAt);
    this.health.worked();
    this.lingerUntil = performance.now() + LINGER_MS;
    await this.recorder.record(ended);
  }

  private async lookUp(): Promise<void> {
    const { cache, lookups, unknown } = this.watched;
    const askedAt = performance.now();
    const { changes } = this;
    this.lookUpAt = askedAt + LOOKUP_GAP_MS;
    // Nothing that is there by now is older than this look-up.
    if (cache.size === 0) this.checkAt = askedAt + CHECK_EVERY_MS;
    const batch = lookups.take(LOOKUP_SIZE);
    try {
      const rows = await this.store.find([...batch.keys()].map(digestOf));
      const found = new Map(rows.map((row) => [keyOf(row.digest), cache.add(row, askedAt)]));
      resolveBatch(batch, (key) => {
        const token = found.get(key);
        if (token !== undefined) lookups.found(key, token);
        // What was made meanwhile is not wrong: it was looked for too early.
        else if (changes === this.changes) unknown.add(key);
        return token;
      });
    } catch (error) {
      // Where the connection broke, another may do.
      if (this.store.isOpen || this.stopped) rejectBatch(batch, error as Error);
      else lookups.putBack(batch);
      throw error;
    }
    this.health.worked();
    this.lingerUntil = performance.now() + LINGER_MS;
  }

  private fail(error: Error): void {
    this.health.failed(error);
    // With no connection, and none to be made at once, nobody has to wait for what is not to be expected.
    if (!this.store.isOpen && this.health.refusal !== undefined) this.watched.lookups.rejectAll(error);
  }
}
