import { tokenNameFault } from '../../auth/tokens/token.js';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import { quoteArgument } from '../quote-argument.js';
import { UsageError } from '../usage.error.js';
import { parseExpiry } from './expiry.js';
import { handOver } from './hand-over.js';
import { parseScopes } from './scope-list.js';
import { withTokens } from './token-database.js';

const DEFAULT_EXPIRY = '90d';
const DEFAULT_REMARK = 'That is in 90 days, as --expires does not say otherwise.';

interface CreateOptions {
  readonly name?: string;
  readonly expires?: string;
  readonly scope?: readonly string[];
  readonly schema?: string;
}

/** `plant-store token create`: makes a token and prints it. */
export async function createToken({ name, expires, scope, schema }: CreateOptions): Promise<void> {
  if (name === undefined) throw new UsageError('--name is missing, should be the name of the token: --name NAME');
  const fault = tokenNameFault(name);
  if (fault !== undefined) throw new UsageError(`--name is ${quoteArgument(name)}: a name ${fault}`);
  const expiry = parseExpiry(expires ?? DEFAULT_EXPIRY);
  const scopes = parseScopes(scope ?? [CREATE_PLANTS]);

  const made = await withTokens(schema, (tokens) => tokens.create(name, scopes, expiry));
  await handOver(made, { remarks: expires === undefined ? [DEFAULT_REMARK] : [] });
}
