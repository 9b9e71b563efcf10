import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../errors/api-error.js';

const FAILED = Symbol('arrival failed');
const failures = new WeakMap<IncomingMessage, ApiError>();

/** Tells whoever reads this request's body that the rest of it will not arrive. */
export function failArrival(request: IncomingMessage, failure: ApiError): void {
  failures.set(request, failure);
  request.emit(FAILED, failure);
}

/** Calls back when the rest of the request fails to arrive, at once if it has failed already. */
export function onArrivalFailure(request: IncomingMessage, callback: (failure: ApiError) => void): void {
  const failure = failures.get(request);
  if (failure) callback(failure);
  else request.once(FAILED, callback);
}
