import { describeOption } from '../../options/option-faults.js';

/** Everything that is wrong with the option `issuedTokens`, one line each. */
export function issuedTokensFaults(options: unknown): string[] {
  if (options === undefined) return [];
  if (typeof options === 'object' && options !== null) return [];
  return [`issuedTokens: ${describeOption(options)}, should be { url }: the database that the tokens are in`];
}
