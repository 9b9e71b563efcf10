import { withoutTokens } from '../auth/tokens/token.js';
import { quote } from '../util/text.js';

/** An argument as a message shows it. Tokens are taken out first: a shortened one may not be known for one any more. */
export function quoteArgument(text: string): string {
  return quote(withoutTokens(text));
}
