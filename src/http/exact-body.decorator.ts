import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { JsonObject } from './json-value.js';

/** The body that `ExactBodyInterceptor` has read. Unlike `@Body()`, an application's global pipes do not touch it. */
export const ExactBody = createParamDecorator(
  (_data: unknown, context: ExecutionContext): JsonObject =>
    context.switchToHttp().getRequest<{ body: JsonObject }>().body,
);
