import { Logger } from '@nestjs/common';
import type { JWK } from 'jose';
import { IssuerKeys, KEYS_TIMING } from '../../../src/auth/jwt/issuer-keys.js';
import { publicJwk, signingKey } from './forged-jwt.js';
import { json, KeyServer } from './key-server.js';

/** Nothing happens by itself, and nothing has to be waited for. */
const TIMING = { ...KEYS_TIMING, cooldownMs: 0 };

/** An issuer with one key, and those who ask for its keys. What these log is kept, not shown. */
export class KeysOwner implements AsyncDisposable {
  readonly logged: string[] = [];
  private readonly opened: IssuerKeys[] = [];

  private constructor(
    readonly key: JWK,
    /** One that it does not have yet. */
    readonly other: JWK,
    private readonly server: KeyServer,
  ) {
    const log = (message: unknown): number => this.logged.push(String(message));
    Logger.overrideLogger({ log, warn: log, error: log });
  }

  static async start(): Promise<KeysOwner> {
    const [key, other] = [publicJwk(await signingKey('first')), publicJwk(await signingKey('other'))];
    return new KeysOwner(key, other, await KeyServer.start(json({ keys: [key] })));
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): string[] {
    return this.server.requests;
  }

  set answer(answer: KeyServer['answer']) {
    this.server.answer = answer;
  }

  keysOf(
    timing: Partial<typeof KEYS_TIMING> = {},
    options: { issuer?: string; jwksUrl?: string | undefined } = {},
  ): IssuerKeys {
    const issuer = this.url;
    const keys = new IssuerKeys({ issuer, jwksUrl: `${issuer}/keys`, ...options }, { ...TIMING, ...timing });
    this.opened.push(keys);
    return keys;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const keys of this.opened) keys.close();
    await this.server[Symbol.asyncDispose]();
    Logger.overrideLogger(true);
  }
}
