import { PRINCIPAL } from '../http/platform.js';
import type { Principal } from './principal.js';

interface Authenticated {
  [PRINCIPAL]?: Principal;
}

export function setPrincipal(request: object, principal: Principal): void {
  (request as Authenticated)[PRINCIPAL] = principal;
}

/** Whom `BearerAuthGuard` let pass with this request, if it did. */
export function principalOf(request: object): Principal | undefined {
  return (request as Authenticated)[PRINCIPAL];
}
