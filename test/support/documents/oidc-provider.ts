import { jest } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { createServer } from 'node:http';
import { freePort } from '../http/free-port.js';

/** An OpenID provider that is set up as the page on authentication says, with a client called shop. */
export interface OidcProvider extends AsyncDisposable {
  readonly variables: Record<'JWT_ISSUER' | 'JWT_AUDIENCE' | 'CLIENT_SECRET', string>;
}

export async function startOidcProvider(): Promise<OidcProvider> {
  const port = await freePort();
  const variables = { JWT_ISSUER: `http://127.0.0.1:${port}`, JWT_AUDIENCE: 'plants', CLIENT_SECRET: 'a-secret' };
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' };
  // It warns of a version of Node.js that the store supports, and of keeping everything in memory.
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const { Provider } = await import('oidc-provider');
  const provider = new Provider(variables.JWT_ISSUER, {
    clients: [
      {
        client_id: 'shop',
        client_secret: variables.CLIENT_SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [key] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    ttl: { ClientCredentials: 600 },
    cookies: { keys: ['a-key-of-cookies'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://plants.example',
        getResourceServerInfo: () => ({
          scope: 'plants:create',
          audience: variables.JWT_AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  warnings.mockRestore();
  const server = createServer((request, response) => void provider.callback()(request, response));
  server.listen(port, '127.0.0.1');
  return {
    variables,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
