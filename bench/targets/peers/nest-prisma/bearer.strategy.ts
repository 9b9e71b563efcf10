import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { isAuthorized } from '../bearer-token.js';

@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  validate(token: string): { name: string } | false {
    return isAuthorized(`Bearer ${token}`) && { name: 'static' };
  }
}
