import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { PlatformRequest, PlatformResponse } from './platform.js';
import { Sealed } from './sealed.js';

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
