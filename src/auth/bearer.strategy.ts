import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import type { StrategyCreated } from 'passport';
import { Strategy } from 'passport-http-bearer';
import { nodeRequest, type PlatformRequest } from '../http/platform.js';
import { bearerToken } from './bearer-token.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

/** A name of our own: passport keeps one registry a process, and a host application may have a `bearer` strategy. */
const STRATEGY_NAME = 'plant-store-bearer';

/** What passport-http-bearer sees of a request, and the request itself. */
type SeenRequest = Request & { origin: PlatformRequest };

@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, STRATEGY_NAME) {
  constructor(private readonly verifier: TokenVerifier) {
    super({ realm: 'plants', passReqToCallback: true });
  }

  override authenticate(this: StrategyCreated<BearerStrategy>, request: PlatformRequest): void {
    try {
      // passport-http-bearer would also take a token from the query or the body, so the header is all it sees.
      const headers = { authorization: `Bearer ${bearerToken(nodeRequest(request))}` };
      super.authenticate({ headers, origin: request } as SeenRequest);
    } catch (error) {
      this.error(error);
    }
  }

  async validate({ origin }: SeenRequest, token: string): Promise<Principal | false> {
    return (await this.verifier.verify(token, origin)) ?? false;
  }
}
