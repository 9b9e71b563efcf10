import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { headerValues } from '../http/header-values.js';
import { nodeRequest, type PlatformRequest } from '../http/platform.js';
import { OpenPipe, Sealed } from '../http/sealed.js';
import { InvalidIdempotencyKeyError } from './idempotency-key.error.js';
import { assertIdempotencyKey } from './idempotency-key.js';

/** The request's `Idempotency-Key`, or undefined where it has none. */
export const IdempotencyKey = (): ParameterDecorator => SealedKey(OpenPipe);

const SealedKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    new Sealed(idempotencyKey(nodeRequest(context.switchToHttp().getRequest<PlatformRequest>()))),
);

function idempotencyKey(request: IncomingMessage): string | undefined {
  const values = headerValues(request, 'idempotency-key');
  if (values.length > 1) throw new InvalidIdempotencyKeyError('is repeated');
  const [key] = values;
  if (key !== undefined) assertIdempotencyKey(key);
  return key;
}
