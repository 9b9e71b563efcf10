import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AuthenticatedRequest } from './authenticated-request.js';

/** The name of the user, on a route behind the JwtAuthGuard. */
export const UserName = createParamDecorator(
  (_data: undefined, context: ExecutionContext) => context.switchToHttp().getRequest<AuthenticatedRequest>().user.name,
);
