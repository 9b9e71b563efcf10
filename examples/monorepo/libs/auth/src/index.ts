import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common';
import { JwtModule, JwtService } from '@nestjs/jwt';
import type { IncomingHttpHeaders } from 'node:http';

const { JWT_SECRET } = process.env;
if (!JWT_SECRET) throw new Error('Set JWT_SECRET.');

interface AuthenticatedRequest {
  headers: IncomingHttpHeaders;
  user: { name: string };
}

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

/** The name of the user, on a route behind the JwtAuthGuard. */
export const UserName = createParamDecorator(
  (_data: undefined, context: ExecutionContext) => context.switchToHttp().getRequest<AuthenticatedRequest>().user.name,
);

@Module({
  imports: [JwtModule.register({ secret: JWT_SECRET })],
  providers: [JwtAuthGuard],
  exports: [JwtAuthGuard, JwtModule],
})
export class AuthModule {}
