import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import type { AuthenticatedRequest } from './authenticated-request.js';

/** Lets a request pass that carries a JSON Web Token of ours. */
@Injectable()
export class JwtAuthGuard implements CanActivate {
  constructor(private readonly jwt: JwtService) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new UnauthorizedException('Send the header "Authorization: Bearer <JWT>".');
    try {
      const { sub } = await this.jwt.verifyAsync<{ sub: string }>(token);
      request.user = { name: sub };
    } catch {
      throw new UnauthorizedException('The token is not valid, or has expired.');
    }
    return true;
  }
}
