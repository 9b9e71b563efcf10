import { holdsToken } from './without-tokens.js';

/** No white space, quotes or control characters: names stand in logs, metrics and scripts. A dash would begin an option. */
const FORM = /^(?!-)[A-Za-z0-9._@/:+-]{1,100}$/;
const DIGITS = /^[0-9]+$/;
/** What other credentials, and metrics, call their own. */
const RESERVED = ['static', 'jwt', 'other'];

/** What keeps this from being the name of an access token, without repeating it; undefined where nothing does. */
export function tokenNameFault(name: string): string | undefined {
  if (holdsToken(name)) return 'must not look like an access token: a name is not secret, and a token is';
  if (!FORM.test(name)) {
    return 'must have 1 to 100 characters out of letters (A to Z), digits and ._@/:+-, and not begin with -';
  }
  if (DIGITS.test(name)) return 'must not be made of digits alone, as the ids of access tokens are';
  if (RESERVED.includes(name.toLowerCase())) return `must not be ${RESERVED.join(', ')}: these mean something else`;
  return undefined;
}
