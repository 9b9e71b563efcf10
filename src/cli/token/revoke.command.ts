import type { TokenRecord } from '../../auth/tokens/token-record.js';
import { escapeControls } from '../../util/text.js';
import { OutputError } from '../output.error.js';
import { print } from '../print.js';
import { refuseToken } from './refuse-token.js';
import { withTokens } from './token-database.js';
import { utc } from './token-table.js';

/** `plant-store token revoke`: ends tokens at once. */
export async function revokeTokens({ schema }: { schema?: string }, nameOrId: string): Promise<void> {
  refuseToken(nameOrId);
  const target = /^[0-9]+$/.test(nameOrId) ? { id: nameOrId } : { name: nameOrId };
  const { revoked, ended } = await withTokens(schema, (tokens) => tokens.revoke(target));
  const lines = (revoked.length > 0 ? revoked.map(describeRevoked) : ended.map(describeEnded)).map(escapeControls);
  try {
    await print(lines.join('\n'));
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new OutputError([`${error.message}, which was to tell this:`, ...lines].join('\n'));
  }
}

function describeRevoked({ id, name }: TokenRecord): string {
  return `Revoked the access token ${name} with the id ${id}`;
}

function describeEnded({ id, name, expiresAt, revokedAt }: TokenRecord): string {
  const what = `The access token ${name} with the id ${id}`;
  const when = revokedAt ?? expiresAt;
  const how = revokedAt === null ? 'has expired' : 'was revoked';
  return `${what} ${how} already${when === null ? '' : `, at ${utc(when)}`}`;
}
