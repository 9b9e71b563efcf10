import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { createHash, createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { makeToken, tokenDigest } from '../../../src/auth/token-format.js';
import { CREATE_PLANTS } from '../../../src/auth/scopes.js';
import type { TestDatabase } from '../database/test-database.js';
import { endServer, portOf } from '../http/free-port.js';
import type { RawResponse } from '../http/request.js';

/** A token as it is stored, written into the database directly. */
export type StoredToken = Awaited<ReturnType<typeof issueToken>>;

/** It expires after an interval such as `1 hour`, `-1 second` or `infinity`; never, unless given. */
export async function issueToken(
  database: Pick<TestDatabase, 'query'>,
  { name = 'gardener', expires = null }: { name?: string; expires?: string | null } = {},
) {
  const token = makeToken();
  const expiry = `CASE $4 WHEN 'infinity' THEN 'infinity' ELSE clock_timestamp() + $4::interval END`;
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO access_tokens (name, digest, scopes, expires_at) VALUES ($1, $2, $3, ${expiry})
     RETURNING id::float8 AS id`,
    [name, `\\x${tokenDigest(token)}`, [CREATE_PLANTS], expires],
  );
  return { token, id: Number(row?.id), headers: bearer(token) };
}

export function bearer(token: string): { Authorization: string } {
  return { Authorization: `Bearer ${token}` };
}

/** No plant: with a valid token it is refused with 40003, and nothing is written. */
export const NO_PLANT = '{}';

/** The number that a request was refused with; undefined if it was not. */
export function errorOf(response: RawResponse | undefined): number | undefined {
  return (JSON.parse(response?.body ?? '{}') as { error?: number }).error;
}

/** The SHA-256 digest of a token, in all forms that it may be written in. */
export function digestForms(token: string): string[] {
  const digest = createHash('sha256').update(token).digest();
  const encodings = ['hex', 'base64', 'base64url', 'latin1', 'utf8'] as const;
  return encodings.map((encoding) => digest.toString(encoding).replace(/=+$/, ''));
}

/** What the `aud` of tokens for the store is. */
export const AUDIENCE = 'https://plants.example';
/** The owner of tokens. */
export const SUBJECT = 'gardener';

/** A private key with its name, and what an issuer says of the public one. */
export type SigningKey = JWK & { kid: string; alg: string; publicJwk: JWK };

export async function signingKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return { ...(await exportJWK(privateKey)), kid, alg, publicJwk };
}

/** An OpenID Connect issuer with these keys: the first signs. It answers as the test says, as no provider would. */
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
      const document = { issuer: this.url, jwks_uri: `${this.url}/jwks` };
      const keys = { keys: this.keys.map(({ publicJwk }) => publicJwk) };
      (this.answer ?? json(request.url === '/jwks' ? keys : document))(request, response);
    });
  }

  static async start(keys: [SigningKey, ...SigningKey[]]): Promise<JwtIssuer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new JwtIssuer(server, keys);
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.server)}`;
  }

  /** What a store is configured with that accepts its JWTs. */
  get variables(): Record<string, string> {
    return { JWT_ISSUER: this.url, JWT_AUDIENCE: AUDIENCE };
  }

  /** A JWT, but for these claims and parts of the header usual ones; one that is undefined is omitted. */
  token(claims: object | string = {}, header: object = {}, key = this.keys[0]): string {
    const now = Math.floor(Date.now() / 1000);
    const usual = { iss: this.url, aud: AUDIENCE, sub: SUBJECT, scope: 'plants:create', iat: now, exp: now + 600 };
    const payload = typeof claims === 'string' ? claims : JSON.stringify({ ...usual, ...claims });
    const parts = [JSON.stringify({ alg: key.alg, kid: key.kid, ...header }), payload];
    const unsigned = parts.map((part) => Buffer.from(part).toString('base64url')).join('.');
    const privateKey = createPrivateKey({ key, format: 'jwk' });
    const signature = sign('sha256', Buffer.from(unsigned), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${unsigned}.${signature.toString('base64url')}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.server.listening) await endServer(this.server);
  }
}

/** An answer of this value in JSON. */
export function json(value: unknown, status = 200): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };
}
