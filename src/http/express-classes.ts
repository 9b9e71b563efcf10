import type { Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/** The classes of which a server of `node:http` makes its requests and responses. */
export interface ExpressClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Classes for the server of an Express application, whose instances are its requests and responses from the start. Express
 * gives each one another prototype, and V8 then forgets its shape: every access is slow from there on. These have
 * that prototype already, with the same one behind it, so to Express nothing changes.
 */
export function expressClasses(app: Express): ExpressClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  app.request = inPlaceOf(app.request, ExpressRequest.prototype);
  app.response = inPlaceOf(app.response, ExpressResponse.prototype);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** The prototype of a class, made into what stands here. */
function inPlaceOf<Members extends object>(members: Members, prototype: object): Members {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(members) as object);
  return Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(members)) as Members;
}
