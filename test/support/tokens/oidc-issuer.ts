import { jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Configuration, Provider } from 'oidc-provider';
import { freePort } from '../http/free-port.js';
import { AUDIENCE, forgeJwt, signingKey, type SigningKey, SUBJECT } from './forged-jwt.js';

const SECRET = 'the-secret-of-the-gardener';

interface IssuerOptions {
  /** A free one unless given. */
  port?: number;
  /** The first signs. One of a kind unless given. */
  keys?: [SigningKey, ...SigningKey[]];
}

/** An OpenID provider that issues JWTs to a client by the client credentials grant. */
export class OidcIssuer implements AsyncDisposable {
  /** The paths that were asked for, in turn. */
  readonly requests: string[] = [];
  /** How it answers those who ask for its keys, if not with its keys. */
  keysAnswer: RequestListener | undefined;

  private constructor(
    readonly url: string,
    readonly keys: readonly [SigningKey, ...SigningKey[]],
    private readonly server: Server,
  ) {
    server.prependListener('request', ({ url: path = '' }, response) => {
      this.requests.push(path);
      // Or the next one at this port would be spoken to over a connection to this one.
      response.shouldKeepAlive = false;
    });
  }

  static async start({ port, keys }: IssuerOptions = {}): Promise<OidcIssuer> {
    const own = keys ?? [await signingKey('first')];
    const url = `http://127.0.0.1:${port ?? (await freePort())}`;
    const callback = (await provider(url, own)).callback();
    const server = createServer((request, response) => {
      if (request.url === '/jwks' && issuer.keysAnswer) issuer.keysAnswer(request, response);
      else void callback(request, response);
    });
    const issuer = new OidcIssuer(url, own, server);
    server.listen(Number(new URL(url).port), '127.0.0.1');
    await once(server, 'listening');
    return issuer;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get jwksUrl(): string {
    return `${this.url}/jwks`;
  }

  /** What a store is configured with that accepts its JWTs. */
  get variables(): Record<string, string> {
    return { JWT_ISSUER: this.url, JWT_AUDIENCE: AUDIENCE };
  }

  /** How often its keys were asked for. */
  get keyRequests(): number {
    return this.requests.filter((path) => path === '/jwks').length;
  }

  /** A token, asked for as a client does. */
  async token({ scope = 'plants:create', resource = AUDIENCE } = {}): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${SUBJECT}:${SECRET}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
    });
    const body = (await response.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
    return body.access_token;
  }

  /** A JWT that it would not issue, with its own signature unless another key is given. */
  forge(claims: object | string = {}, header: object = {}, key: SigningKey = this.keys[0]): string {
    return forgeJwt(this.url, key, claims, header);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}

async function provider(url: string, keys: [SigningKey, ...SigningKey[]]): Promise<Provider> {
  // It warns of a version of Node.js that the store supports, and of keeping everything in memory.
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  try {
    const oidc = await import('oidc-provider');
    return new oidc.Provider(url, configuration(keys));
  } finally {
    warnings.mockRestore();
  }
}

function configuration(keys: [SigningKey, ...SigningKey[]]): Configuration {
  const alg = keys[0].alg as 'ES256';
  return {
    clients: [
      {
        client_id: SUBJECT,
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: alg,
      },
    ],
    jwks: { keys },
    enabledJWA: { idTokenSigningAlgValues: [alg] },
    ttl: { ClientCredentials: 600 },
    cookies: { keys: ['a-key-of-cookies-that-nobody-gets'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'plants:create plants:look',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg } },
        }),
      },
    },
  };
}
