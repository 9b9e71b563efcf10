import { InvalidIdempotencyKeyError } from './plants.errors.js';
import { Inject, Injectable, type PipeTransform } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT, exactBody } from '../http/read-body.js';
import { headerValues, nodeRequest } from '../http/platform.js';
import { type Sealed, type Exchange, SealedExchange } from '../http/sealed-body.js';

const MAX_LENGTH = 255;

/** @throws InvalidIdempotencyKeyError where this can't be kept with a plant; code of the application may say anything */
export function assertIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key !== 'string') throw new InvalidIdempotencyKeyError('is no string');
  if (key === '') throw new InvalidIdempotencyKeyError('is empty');
  if (key.length > MAX_LENGTH) throw new InvalidIdempotencyKeyError(`has ${key.length} characters`);
  if (key.includes('\0') || !key.isWellFormed()) {
    throw new InvalidIdempotencyKeyError('contains U+0000 or half a character, which PostgreSQL cannot store');
  }
}

/** Takes the `Idempotency-Key` of a request. */
@Injectable()
class IdempotencyKeyPipe implements PipeTransform<Sealed<Exchange>> {
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

/** The request's `Idempotency-Key`, or undefined where it has none. */
export const IdempotencyKey = (): ParameterDecorator => SealedExchange(IdempotencyKeyPipe);
