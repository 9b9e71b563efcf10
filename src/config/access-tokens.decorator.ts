import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';

import { Check } from './check.decorator.js';

const SHORTEST = 20;
// Well within Node's limit of 16 KiB for all headers of a request: a longer one could never be sent.
const LONGEST = 8192;
// b64token of RFC 6750, section 2.1: what may follow "Bearer " in the header.
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

function tokenFault(token: string): string | undefined {
  if (!B64TOKEN.test(token)) {
    return 'cannot be sent as a bearer token, should be made of letters, digits and -._~+/ alone, with = only at its end';
  }
  if (token.length < SHORTEST) return `is too short, should have at least ${String(SHORTEST)} characters`;
  if (token.length > LONGEST) return `is too long, should have at most ${String(LONGEST)} characters`;
  return undefined;
}

/** Bearer tokens, separated by commas or white space. A fault tells the position of a token, never the token. */
export function AccessTokens(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).split(/[\s,]+/).filter((token) => token !== '')),
    Check('accessTokens', (value) => {
      const tokens = value as string[];
      const faults = tokens.flatMap((token, index) => {
        const fault = tokenFault(token);
        return fault === undefined ? [] : `token ${String(index + 1)} of ${String(tokens.length)} ${fault}`;
      });
      return faults.length > 0 ? faults.join('; ') : undefined;
    }),
  );
}
