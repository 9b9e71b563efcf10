import type { IncomingMessage } from 'node:http';
import { headerValues } from '../http/platform.js';
import { MalformedAuthorizationError, MissingCredentialError } from './credential.error.js';

/** RFC 6750, section 2.1: `"Bearer" 1*SP b64token`; RFC 9110, section 11.1: the scheme is case-insensitive. */
const BEARER = /^bearer +(?<token>[\w\-.~+/]+=*)$/i;
const OTHER_SCHEME = /^(?!bearer\b)[\w!#$%&'*+\-.^`|~]+(?: |$)/i;

/** The token in a request's `Authorization` header, the only place where one counts. */
export function bearerToken(request: IncomingMessage): string {
  const values = headerValues(request, 'authorization');
  const [value] = values;
  if (value === undefined) throw new MissingCredentialError();
  if (values.length > 1) throw new MalformedAuthorizationError('The Authorization header is repeated');
  const token = BEARER.exec(value)?.groups?.token;
  if (token !== undefined) return token;
  if (OTHER_SCHEME.test(value)) throw new MissingCredentialError();
  throw new MalformedAuthorizationError('The Authorization header holds no well-formed bearer token');
}
