import { SealedExchange } from '../http/sealed-exchange.decorator.js';
import { IdempotencyKeyPipe } from './idempotency-key.pipe.js';

/** The request's `Idempotency-Key`, or undefined where it has none. */
export const IdempotencyKey = (): ParameterDecorator => SealedExchange(IdempotencyKeyPipe);
