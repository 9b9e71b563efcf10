import { Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { BearerStrategy } from './bearer.strategy.js';
import { InvalidTokenError } from './credential.error.js';

/** Lets a request pass that carries a valid bearer token. */
@Injectable()
export class BearerAuthGuard extends AuthGuard() {
  constructor(strategy: BearerStrategy) {
    // The strategy itself and not its name: the registry of names is one a process, and two stores may run in it.
    super({ defaultStrategy: strategy as unknown as string });
  }

  /** Nest's own version answers 401 to everything and sends no challenge. */
  override handleRequest<Principal>(error: Error | null, principal: Principal | false): Principal {
    if (error) throw error;
    if (!principal) throw new InvalidTokenError();
    return principal;
  }
}
