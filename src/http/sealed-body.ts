import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import { BODY_LIMIT } from './body-limit.token.js';
import { exactBody } from './exact-body.js';
import type { JsonObject } from './json-value.js';
import { Sealed } from './sealed.js';
import type { Exchange } from './sealed-exchange.decorator.js';

/**
 * Reads the body of a route. A pipe, because those run after the guards: no byte is parsed without a credential. An interceptor
 * would too, but for one alone Nest makes observables of every request.
 */
@Injectable()
export class ExactBodyPipe implements PipeTransform<Sealed<Exchange>> {
  constructor(@Inject(BODY_LIMIT) private readonly limit: number) {}

  async transform(exchange: Sealed<Exchange>): Promise<Sealed<JsonObject>> {
    return new Sealed(await exactBody(exchange.open(), this.limit));
  }
}
