const SHORTEST = 20;
// Well within Node's limit of 16 KiB for all headers of a request: a longer one could never be sent.
const LONGEST = 8192;
// b64token of RFC 6750, section 2.1: what may follow "Bearer " in the header.
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** What keeps these from being access tokens, by position and without repeating any; undefined where nothing does. */
export function accessTokensFault(tokens: readonly string[]): string | undefined {
  const faults = tokens.flatMap((token, index) => {
    const fault = accessTokenFault(token);
    return fault === undefined ? [] : `token ${index + 1} of ${tokens.length} ${fault}`;
  });
  return faults.length > 0 ? faults.join('; ') : undefined;
}

function accessTokenFault(token: string): string | undefined {
  if (!B64TOKEN.test(token)) {
    return 'cannot be sent as a bearer token, should be made of letters, digits and -._~+/ alone, with = only at its end';
  }
  if (token.length < SHORTEST) return `is too short, should have at least ${SHORTEST} characters`;
  if (token.length > LONGEST) return `is too long, should have at most ${LONGEST} characters`;
  return undefined;
}
