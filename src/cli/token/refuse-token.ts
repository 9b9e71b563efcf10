import { holdsToken } from '../../auth/tokens/token.js';
import { UsageError } from '../usage.error.js';

/** @throws UsageError where somebody gave a token in the place of its name. It is not repeated. */
export function refuseToken(operand: string): void {
  if (!holdsToken(operand)) return;
  throw new UsageError(
    'the name or the id of an access token is wanted, never a token itself. As others can read what stands on a ' +
      'command line, that token should be revoked: plant-store token list tells its name and id',
  );
}
