import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { ApiError, credentialUndecided, malformedAuthorization, missingCredential } from '../errors/api-error.js';
import { headerValues, nodeRequest, type PlatformRequest } from '../http/request-context.js';
import { BEARER_TOKEN } from './token-format.js';
import { type Principal, TokenVerifier } from './token-verifier.js';

/** RFC 6750, section 2.1: `"Bearer" 1*SP b64token`; RFC 9110, section 11.1: the scheme is case-insensitive. */
const BEARER = new RegExp(`^bearer +(${BEARER_TOKEN})$`, 'i');
/** The first word is another scheme, or a token without one. */
const OTHER_SCHEME = /^(?!bearer\b)[\w!#$%&'*+\-./^`|~]+=*(?: |$)/i;

/** What the strategy of passport-http-bearer gets to see of a request. */
type BearerRequest = Readonly<{ headers: { authorization: string }; platform: PlatformRequest }>;
type Done = (error: unknown, principal?: Principal) => void;

/**
 * The strategy of passport-http-bearer, with the verifiers of one `PlantsAuthModule`. The registry of passport is one
 * for the process. Several stores and two copies of this package may be in it, so each strategy has a name of its own.
 */
@Injectable()
export class BearerStrategy extends Strategy<never> implements OnApplicationShutdown {
  override readonly name = `plant-store-${randomUUID()}`;

  constructor(@Inject(TokenVerifier) verifier: TokenVerifier) {
    const verify = async ({ platform }: BearerRequest, token: string, done: Done): Promise<void> => {
      try {
        done(null, await verifier.verify(token, platform));
      } catch (error) {
        done(error instanceof ApiError ? error : credentialUndecided(error));
      }
    };
    super({ realm: 'plants', passReqToCallback: true }, verify as never);
    passport.use(this.name, this);
  }

  /** The strategy also takes tokens from query and body, so it gets the header alone. */
  override authenticate(request: PlatformRequest & IncomingMessage): void {
    const headers = { authorization: authorizationOf(nodeRequest(request)) };
    super.authenticate({ headers, platform: request } satisfies BearerRequest as never);
  }

  onApplicationShutdown(): void {
    passport.unuse(this.name);
  }
}

/** The `Authorization` header with one space: the strategy splits at each. Only the raw headers show a repetition. */
function authorizationOf(request: IncomingMessage): string {
  const [value, ...others] = headerValues(request, 'authorization');
  if (others.length > 0) throw malformedAuthorization('The Authorization header is repeated');
  const [, token] = BEARER.exec(value ?? '') ?? [];
  if (token !== undefined) return `Bearer ${token}`;
  if (value === undefined) throw missingCredential();
  if (OTHER_SCHEME.test(value)) throw missingCredential('The Authorization header does not begin with "Bearer"');
  throw malformedAuthorization('The Authorization header holds no well-formed bearer token');
}
