import type { TokenRecord } from '../../auth/tokens/token-record.js';
import { quoteArgument } from '../quote-argument.js';
import { UsageError } from '../usage.error.js';
import { durationSeconds } from './duration.js';
import { parseExpiry } from './expiry.js';
import { handOver } from './hand-over.js';
import { refuseToken } from './refuse-token.js';
import { withTokens } from './token-database.js';
import { utc } from './token-table.js';

const DEFAULT_OVERLAP = '1h';

interface RotateOptions {
  readonly overlap?: string;
  readonly expires?: string;
  readonly schema?: string;
}

/** `plant-store token rotate`: makes a token in place of another, which ends a little later. */
export async function rotateToken({ overlap, expires, schema }: RotateOptions, name: string): Promise<void> {
  refuseToken(name);
  if (/^[0-9]+$/.test(name))
    throw new UsageError(`${quoteArgument(name)} is an id, should be a name: all tokens of it are rotated`);
  const rotation = {
    name,
    overlap: parseOverlap(overlap ?? DEFAULT_OVERLAP),
    expiry: expires === undefined ? undefined : parseExpiry(expires),
  };
  const { replaced, ...made } = await withTokens(schema, (tokens) => tokens.rotate(rotation));
  await handOver(made, { replaced: replaced.map(describeReplaced) });
}

function parseOverlap(text: string): number {
  const seconds = text === '0' ? 0 : durationSeconds('--overlap', text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--overlap is ${quoteArgument(text)}, should be a time such as 30m, 12h or 2d, or 0`);
}

function describeReplaced({ id, expiresAt, revokedAt }: TokenRecord): string {
  if (revokedAt !== null || expiresAt === null) return `The one with the id ${id} is revoked.`;
  return `The one with the id ${id} stays valid until ${utc(expiresAt)}.`;
}
