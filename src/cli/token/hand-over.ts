import type { NewToken } from '../../auth/tokens/token-record.js';
import { CREATE_PLANTS } from '../../auth/token-verifier.js';
import { reasonOf, escapeControls } from '../../util/text.js';
import { OutputError } from '../output.error.js';
import { write } from '../print.js';
import { utc } from './token-table.js';

interface Remarks {
  /** For who has the token. */
  readonly remarks?: readonly string[];
  /** What became of those in whose place it is. */
  readonly replaced?: readonly string[];
}

/** Prints the token, alone, to standard output, and what is to be said of it to standard error. */
export async function handOver(made: NewToken, { remarks = [], replaced = [] }: Remarks = {}): Promise<void> {
  const { id, name, scopes, expiresAt } = made.record;
  try {
    await write(`${made.token}\n`);
  } catch (error) {
    throw new OutputError(unprinted(made, replaced, reasonOf(error)));
  }
  const end = expiresAt === null ? 'It never expires' : `It expires at ${utc(expiresAt)}`;
  const lines = [
    `Access token ${name}, with the id ${id}, for ${scopes.join(' ') || 'nothing'}. ${end}.`,
    ...remarks,
    ...replaced,
    ...scopeRemarks(scopes),
    'It is shown this once: only a digest of it is stored.',
  ];
  console.error(lines.map(escapeControls).join('\n'));
}

function unprinted({ record: { id, name } }: NewToken, replaced: readonly string[], reason: string): string {
  const shown = escapeControls(name);
  const revoke = `revoke it: plant-store token revoke ${id}`;
  const advice = replaced.length > 0 ? `rotate again (plant-store token rotate ${shown}), and then ${revoke}` : revoke;
  return [
    `the access token ${shown} with the id ${id} was made, but could not be printed (${reason}).`,
    ...replaced,
    `As nobody has it now, ${advice}`,
  ].join(' ');
}

function scopeRemarks(scopes: readonly string[]): string[] {
  const unknown = scopes.filter((scope) => scope !== CREATE_PLANTS);
  if (unknown.length === scopes.length) {
    return [`The store knows the scope ${CREATE_PLANTS} alone: this token cannot create plants.`];
  }
  if (unknown.length === 0) return [];
  return [`The store knows the scope ${CREATE_PLANTS} alone, and makes nothing of ${unknown.join(' ')}.`];
}
