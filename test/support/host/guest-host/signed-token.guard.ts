import { type CanActivate, type ExecutionContext, ForbiddenException } from '@nestjs/common';
import { createHmac } from 'node:crypto';

const SECRET = 'of the host alone';

/** The payload and its signature, as a JWT has them. */
export function signToken(payload: string): string {
  return `${payload}.${createHmac('sha256', SECRET).update(payload).digest('base64url')}`;
}

export class SignedTokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: unknown }>();
    const [payload = ''] = request.headers.authorization?.replace(/^Bearer /, '').split('.') ?? [];
    if (request.headers.authorization !== `Bearer ${signToken(payload)}`) throw new ForbiddenException('not signed');
    request.user = payload;
    return true;
  }
}
