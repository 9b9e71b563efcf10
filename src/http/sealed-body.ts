import {
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import type { PlatformRequest, PlatformResponse } from './platform.js';
import { BODY_LIMIT, exactBody } from './read-body.js';
import type { JsonObject } from './exact-json.js';

/** A parameter of a handler on its way through an application's global pipes, which see every parameter: none can change it. */
export class Sealed<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  open(): T {
    return this.#value;
  }
}

/** A request with its response. */
export interface Exchange {
  readonly request: PlatformRequest;
  readonly response: PlatformResponse;
}

/** What the pipes of a parameter make its value of, out of reach of an application's global pipes. */
export const SealedExchange = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return new Sealed<Exchange>({ request: http.getRequest(), response: http.getResponse() });
});

/**
 * Reads the body of a route. A pipe, because those run after the guards: no byte is parsed without a credential. An interceptor
 * would too, but for one alone Nest makes observables of every request.
 */
@Injectable()
class ExactBodyPipe implements PipeTransform<Sealed<Exchange>> {
  constructor(@Inject(BODY_LIMIT) private readonly limit: number) {}

  async transform(exchange: Sealed<Exchange>): Promise<Sealed<JsonObject>> {
    return new Sealed(await exactBody(exchange.open(), this.limit));
  }
}

/**
 * What this pipe makes of the body, whose numbers are as they were written. Unlike that of `@Body()`, an application's global
 * pipes can't touch it.
 */
export const ExactBody = (pipe: Type<PipeTransform<Sealed<JsonObject>>>): ParameterDecorator =>
  SealedExchange(ExactBodyPipe, pipe);
