import { isFQDN, isIP } from 'class-validator';

import { Check } from './check.decorator.js';
import { quote } from '../errors/quote.js';

/** An address or a name to listen on. */
export function Host(): PropertyDecorator {
  return Check('host', (host) =>
    isIP(host) || isFQDN(host, { require_tld: false, allow_underscores: true })
      ? undefined
      : `is ${quote(host)}, should be an IP address or a host name, without brackets or port`,
  );
}
