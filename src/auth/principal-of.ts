import type { Principal } from './principal.js';

/** Not `user`, which guards of a host may have put anybody on. */
const PRINCIPAL = Symbol('plant-store:principal');

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
