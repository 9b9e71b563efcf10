import type { NewToken } from '../../auth/issued/token-record.js';
import { CREATE_PLANTS } from '../../auth/scopes.js';
import { reasonOf } from '../../database/reason-of.js';
import { TokenOutputError } from './token-output.error.js';
import { utc } from './token-table.js';

/** Prints the token, alone, to standard output, and what is to be said of it to standard error. */
export async function handOver({ token, record }: NewToken, ...remarks: string[]): Promise<void> {
  const { id, name, scopes, expiresAt } = record;
  try {
    await print(`${token}\n`);
  } catch (error) {
    throw new TokenOutputError(
      `the access token ${name} was made, but could not be printed (${reasonOf(error)}). ` +
        `As nobody has it now, revoke it: plant-store token revoke ${id}`,
    );
  }
  const end = expiresAt === null ? 'It never expires' : `It expires at ${utc(expiresAt)}`;
  console.error(
    [
      `Access token ${name}, with the id ${id}, for ${scopes.join(' ')}. ${end}.`,
      ...remarks,
      ...scopeRemarks(scopes),
      'It is shown this once: only a digest of it is stored.',
    ].join('\n'),
  );
}

function scopeRemarks(scopes: readonly string[]): string[] {
  const unknown = scopes.filter((scope) => scope !== CREATE_PLANTS);
  if (unknown.length === 0) return [];
  if (unknown.length === scopes.length) {
    return [`The store knows the scope ${CREATE_PLANTS} alone: this token cannot create plants.`];
  }
  return [`The store knows the scope ${CREATE_PLANTS} alone, and makes nothing of ${unknown.join(' ')}.`];
}

function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Unheard, the event ends the process.
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}
