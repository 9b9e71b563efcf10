import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { JsonObject } from './json-value.js';
import { Sealed } from './sealed.js';

/** The body that `ExactBodyInterceptor` has read. Unlike that of `@Body()`, an application's global pipes can't touch it. */
export const ExactBody = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    new Sealed(context.switchToHttp().getRequest<{ body: JsonObject }>().body),
);
