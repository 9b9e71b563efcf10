import { Matches } from 'class-validator';
import { quote } from '../errors/quote.js';

/** The path before another one, or none. */
export function BasePath(): PropertyDecorator {
  return Matches(/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9\-._~]+)*$/, {
    message: ({ value }) =>
      `is ${quote(value)}, should be a path like /api/v1: it starts with "/", does not end with one, and its parts are made of letters, digits and -._~`,
  });
}
