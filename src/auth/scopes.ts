import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { SCOPE } from './token-format.js';

const REQUIRED_SCOPES = 'plant-store:required-scopes';

/** The scope that a create requires. */
export const CREATE_PLANTS = 'plants:create';

/**
 * Requires scopes for a handler, or for all handlers of a controller. A token needs all of them. The scopes of a
 * handler replace those of its controller. Without this decorator any valid token is accepted. **Without
 * `BearerAuthGuard` it has no effect, and nothing warns.**
 *
 * @param scopes at least one, of visible ASCII characters without quotes and backslashes, such as `orders:read`
 * @throws TypeError if there is no scope, or one has other characters
 */
export function RequireScopes(...scopes: readonly string[]): ClassDecorator & MethodDecorator {
  if (scopes.length === 0 || !scopes.every((scope) => SCOPE.test(scope)))
    throw new TypeError(
      'RequireScopes() should have scopes such as orders:read, without white space, quotes and backslashes',
    );
  return SetMetadata(REQUIRED_SCOPES, scopes);
}

/** The scopes of a handler, or else of its controller. A context that a host makes may have neither. */
export function requiredScopes(handler: unknown, controller: unknown): readonly string[] {
  const of = (target: unknown): unknown => Reflect.getMetadata(REQUIRED_SCOPES, Object(target) as object);
  return (of(handler) ?? of(controller) ?? []) as readonly string[];
}

const PUBLIC = 'plant-store:public';

/** Opens a handler, or all handlers of a controller of the service, to everybody: its guard is on every route. */
export const Public = (): ClassDecorator & MethodDecorator =>
  applyDecorators(SetMetadata(PUBLIC, true), ApiSecurity({}));

export function isPublic(handler: unknown, controller: unknown): boolean {
  return [handler, controller].some((target) => Reflect.hasMetadata(PUBLIC, Object(target) as object));
}
