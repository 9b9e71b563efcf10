import { holdsToken } from '../../auth/tokens/token.js';
import { quoteArgument } from '../quote-argument.js';
import { UsageError } from '../usage.error.js';

/** scope-token of RFC 6749, section 3.3, but for the comma, which separates here. */
const SCOPE = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,100}$/;
const MOST = 50;

/** Reads the scopes that `--scope` was given, each time one or several. */
export function parseScopes(values: readonly string[]): string[] {
  const scopes = [...new Set(values.flatMap((value) => value.split(/[\s,]+/)).filter((scope) => scope !== ''))];
  const wrong = scopes.find((scope) => !SCOPE.test(scope));
  if (wrong !== undefined) {
    throw new UsageError(
      `--scope is ${quoteArgument(wrong)}, should have 1 to 100 visible ASCII characters, without quotes and backslashes`,
    );
  }
  if (scopes.some(holdsToken))
    throw new UsageError('--scope is an access token, should be a scope such as plants:create');
  if (scopes.length === 0) throw new UsageError('--scope is empty, should be a scope such as plants:create');
  if (scopes.length > MOST) throw new UsageError(`--scope names ${scopes.length} scopes, should be ${MOST} at most`);
  return scopes;
}
