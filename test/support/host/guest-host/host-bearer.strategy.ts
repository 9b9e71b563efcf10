import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';

export const HOST_TOKEN = 'a-token-of-the-host-0123456789';

/** A strategy that has the name which the store's would have by default. */
@Injectable()
export class HostBearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  validate(token: string): unknown {
    return token === HOST_TOKEN && { name: 'a user of the host' };
  }
}
