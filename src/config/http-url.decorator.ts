import { quote } from '../errors/quote.js';
import { Check } from './check.decorator.js';

/** The URL of something that is fetched over HTTP. */
export function HttpUrl(): PropertyDecorator {
  return Check('httpUrl', (value) => {
    if (value === undefined || (URL.canParse(String(value)) && /^https?:\/\/[^\s#]+$/.test(String(value))))
      return undefined;
    return `is ${quote(value)}, should be a URL such as https://id.example.com`;
  });
}
