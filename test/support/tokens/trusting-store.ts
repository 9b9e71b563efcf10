import { startStore, type Store } from '../service/store.js';
import { AUDIENCE, forgeJwt, signingKey, type SigningKey } from './forged-jwt.js';
import { KeyServer } from './key-server.js';
import { OidcIssuer } from './oidc-issuer.js';

/** A store that trusts an issuer, and the issuers and servers that come and go around it. */
export class TrustingStore implements AsyncDisposable {
  private store: Store | undefined;
  private readonly running: AsyncDisposable[] = [];

  private constructor(readonly keys: Record<'a' | 'b' | 'c', SigningKey>) {}

  static async prepare(): Promise<TrustingStore> {
    return new TrustingStore({ a: await signingKey('a'), b: await signingKey('b'), c: await signingKey('c') });
  }

  async issuerWith(own: [SigningKey, ...SigningKey[]], port?: number): Promise<OidcIssuer> {
    const issuer = await OidcIssuer.start({ keys: own, ...(port !== undefined && { port }) });
    this.running.push(issuer);
    return issuer;
  }

  async serverOf(answer?: KeyServer['answer']): Promise<KeyServer> {
    const server = await KeyServer.start(answer);
    this.running.push(server);
    return server;
  }

  /** The store, which trusts this issuer from now on, and a JWT that it might have issued. */
  async storeOf(url: string, variables: Record<string, string> = {}): Promise<[Store, string]> {
    this.store = await startStore({ JWT_ISSUER: url, JWT_AUDIENCE: AUDIENCE, ...variables });
    return [this.store, forgeJwt(url, this.keys.a)];
  }

  async stopStore(): Promise<void> {
    const store = this.store;
    this.store = undefined;
    await store?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopStore();
    for (const issuer of this.running) await issuer[Symbol.asyncDispose]();
  }
}
