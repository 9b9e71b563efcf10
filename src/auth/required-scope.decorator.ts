import { type CustomDecorator, SetMetadata } from '@nestjs/common';

const REQUIRED_SCOPE = 'plant-store:required-scope';

/** `BearerAuthGuard` lets only those tokens use the route that have this scope. */
export function RequiredScope(scope: string): CustomDecorator {
  return SetMetadata(REQUIRED_SCOPE, scope);
}

export function requiredScope(handler: object): string | undefined {
  return Reflect.getMetadata(REQUIRED_SCOPE, handler) as string | undefined;
}
