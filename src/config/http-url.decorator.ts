import { isHttpUrl } from '../auth/jwt/jwt-rules.js';
import { quote } from '../errors/quote.js';
import { Check } from './check.decorator.js';

/** What may hold a password, which must not be shown. */
const USER = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/)?[^/?#]*@/i;

/** The URL of something that is fetched over HTTP, with a query where it may have one. */
export function HttpUrl(options: { query?: boolean } = {}): PropertyDecorator {
  const should = `should be a URL such as https://id.example.com, without user${options.query ? '' : ', query'} or fragment`;
  return Check('httpUrl', (value) => {
    if (value === undefined || isHttpUrl(value, options)) return undefined;
    return `${USER.test(value as string) ? 'holds a user or password' : `is ${quote(value)}`}, ${should}`;
  });
}
