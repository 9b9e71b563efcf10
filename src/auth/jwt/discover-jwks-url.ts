import { quote } from '../../util/text.js';
import { fetchText } from './fetch-text.js';
import { isHttpUrl } from './http-url.js';

/** Where an issuer has its keys, by its document of OpenID Connect Discovery 1.0. */
export async function discoverJwksUrl(issuer: string, signal: AbortSignal): Promise<string> {
  // Section 4.1: a slash at the end of the issuer goes.
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const document = parseObject(await fetchText(url, signal), url);
  // Section 4.3: exactly, or the keys would be those of somebody else.
  if (document.issuer !== issuer) {
    throw new Error(`${url} names the issuer ${quote(document.issuer)}, should name ${quote(issuer)}, exactly so`);
  }
  const { jwks_uri: jwksUrl } = document;
  if (!isHttpUrl(jwksUrl, { query: true })) {
    throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have an http or https URL`);
  }
  if (/^https:/i.test(issuer) && !/^https:/i.test(jwksUrl)) {
    throw new Error(`${url} has the jwks_uri ${quote(jwksUrl)}, should have an https URL, as the issuer's is`);
  }
  return jwksUrl;
}

function parseObject(text: string, url: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    throw new Error(`${url} answers with something else than JSON`);
  }
}
