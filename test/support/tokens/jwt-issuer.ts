import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the `aud` of tokens for the store is. */
export const AUDIENCE = 'https://plants.example';
/** The owner of tokens. */
export const SUBJECT = 'gardener';

/** A private key, with what an issuer says of the public one. */
export type SigningKey = JWK & { kid: string; alg: string };

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** What an issuer says of a key. */
function publicJwk(key: SigningKey): SigningKey {
  const { kid, alg } = key;
  return { ...(createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }) as JWK), kid, alg, use: 'sig' };
}

export function base64url(content: string | Buffer): string {
  return Buffer.from(content as string).toString('base64url');
}

/** An OpenID Connect issuer with these keys: the first signs. It answers as the test says, which no provider does at will. */
export class JwtIssuer implements AsyncDisposable {
  /** The paths that were asked for, in turn. */
  readonly requests: string[] = [];
  /** How it answers, if not with its discovery document and its keys. */
  answer: RequestListener | undefined;

  private constructor(
    private readonly server: Server,
    public keys: [SigningKey, ...SigningKey[]],
  ) {
    server.on('request', (request, response) => {
      this.requests.push(request.url ?? '');
      const { url } = this;
      const document = { issuer: url, jwks_uri: `${url}/jwks` };
      const answer = request.url === '/jwks' ? { keys: this.keys.map(publicJwk) } : document;
      (this.answer ?? json(answer))(request, response);
    });
  }

  static async start(keys: [SigningKey, ...SigningKey[]]): Promise<JwtIssuer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new JwtIssuer(server, keys);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What a store is configured with that accepts its JWTs. */
  get variables(): Record<string, string> {
    return { JWT_ISSUER: this.url, JWT_AUDIENCE: AUDIENCE };
  }

  /** A JWT, but for these claims and parts of the header usual ones; one that is undefined is left out. */
  token(claims: object | string = {}, header: object = {}, key = this.keys[0]): string {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.url, aud: AUDIENCE, sub: SUBJECT, scope: 'plants:create', iat: now, exp: now + 600 };
    const payload = typeof claims === 'string' ? claims : JSON.stringify({ ...usual, ...claims });
    const unsigned = `${base64url(JSON.stringify({ alg: key.alg, kid: key.kid, ...header }))}.${base64url(payload)}`;
    const privateKey = createPrivateKey({ key, format: 'jwk' });
    const signature = sign('sha256', Buffer.from(unsigned), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${unsigned}.${base64url(signature)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.server.listening) return;
    this.server.close().closeAllConnections();
    await once(this.server, 'close');
  }
}

/** An answer of this value in JSON. */
export function json(value: unknown, status = 200): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };
}
