import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT } from '../http/body-limit.token.js';
import { exactBody } from '../http/exact-body.js';
import { headerValues } from '../http/header-values.js';
import { nodeRequest } from '../http/platform.js';
import type { Sealed } from '../http/sealed.js';
import type { Exchange } from '../http/sealed-exchange.decorator.js';
import { InvalidIdempotencyKeyError } from './idempotency-key.error.js';
import { assertIdempotencyKey } from './idempotency-key.js';

/** Takes the `Idempotency-Key` of a request. */
@Injectable()
export class IdempotencyKeyPipe implements PipeTransform<Sealed<Exchange>> {
  constructor(@Inject(BODY_LIMIT) private readonly limit: number) {}

  async transform(sealed: Sealed<Exchange>): Promise<string | undefined> {
    const exchange = sealed.open();
    try {
      return idempotencyKey(nodeRequest(exchange.request));
    } catch (error) {
      // The pipes of all parameters run at a time, and what is wrong with the body is to be told first.
      await exactBody(exchange, this.limit);
      throw error;
    }
  }
}

function idempotencyKey(request: IncomingMessage): string | undefined {
  const values = headerValues(request, 'idempotency-key');
  if (values.length > 1) throw new InvalidIdempotencyKeyError('is repeated');
  const [key] = values;
  if (key !== undefined) assertIdempotencyKey(key);
  return key;
}
