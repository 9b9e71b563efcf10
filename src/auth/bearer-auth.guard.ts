import { Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { BEARER_STRATEGY } from './bearer.strategy.js';
import { InvalidTokenError } from './credential.error.js';

/** Lets a request pass that carries a valid bearer token. */
@Injectable()
export class BearerAuthGuard extends AuthGuard(BEARER_STRATEGY) {
  /** Nest's own version answers 401 to everything and sends no challenge. */
  override handleRequest<Principal>(error: Error | null, principal: Principal | false): Principal {
    if (error) throw error;
    if (!principal) throw new InvalidTokenError();
    return principal;
  }
}
