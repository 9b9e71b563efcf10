import { escapeControlsInLines } from '../../util/text.js';
import { print } from '../print.js';
import { withTokens } from './token-database.js';
import { tokenTable } from './token-table.js';

/** In this order, and no others, whatever else a record may come to hold. */
const FIELDS = ['id', 'name', 'scopes', 'createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt', 'state'];

/** `plant-store token list`: all tokens, but never the tokens themselves. */
export async function listTokens({ json, schema }: { json?: boolean; schema?: string }): Promise<void> {
  const records = await withTokens(schema, (tokens) => tokens.list());
  // JSON escapes but some of the control characters by itself. In it, too, they mean the same when they are escaped.
  await print(json === true ? escapeControlsInLines(JSON.stringify(records, FIELDS, 2)) : tokenTable(records));
  if (records.length === 0) {
    console.error('There are no access tokens yet. Create one: plant-store token create --name NAME');
  }
}
