import { Logger } from '@nestjs/common';
import { JwtVerifier } from '../../../src/auth/jwt.verifier.js';
import { AUDIENCE, forgeJwt, publicJwk, type SigningKey } from './forged-jwt.js';
import { json, KeyServer } from './key-server.js';

/** An issuer that has the keys it is given, and a verifier of its JWTs that may ask it at any time. */
export class JwtIssuer implements AsyncDisposable {
  /** What the verifier tells the operator. */
  readonly logged: string[] = [];
  readonly verifier: JwtVerifier;

  private constructor(
    readonly server: KeyServer,
    typ?: 'at+jwt',
  ) {
    this.verifier = new JwtVerifier({
      issuer: server.url,
      audience: [AUDIENCE, 'garden'],
      jwksUrl: `${server.url}/keys`,
      typ,
    });
    const log = (message: unknown): number => this.logged.push(String(message));
    Logger.overrideLogger({ log, warn: log, error: log });
  }

  /** @param typ what the verifier requires; nothing unless given */
  static async start(typ?: 'at+jwt'): Promise<JwtIssuer> {
    return new JwtIssuer(await KeyServer.start(json({ keys: [] })), typ);
  }

  /** From now on these are its keys; without their names if it has no names for them. */
  has(keys: SigningKey[], { named = true } = {}): void {
    const jwks = keys.map(publicJwk).map(({ kid, ...jwk }) => (named ? { kid, ...jwk } : jwk));
    this.server.answer = json({ keys: jwks });
  }

  forge(key: SigningKey, claims?: object, header?: object): string {
    return forgeJwt(this.server.url, key, claims, header);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    Logger.overrideLogger(true);
  }
}
