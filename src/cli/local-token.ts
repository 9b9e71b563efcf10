import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** The token kept in this folder, made at the first start. */
export async function localToken(directory: string): Promise<string> {
  const file = join(directory, 'access-token');
  const kept = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  });
  return kept.trim() || makeToken(directory, file);
}

async function makeToken(directory: string, file: string): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  await mkdir(directory, { recursive: true });
  // Renamed when it is complete: a crash in between must not leave an empty token.
  const draft = await open(`${file}.${process.pid}`, 'w', 0o600);
  try {
    await draft.writeFile(`${token}\n`);
    await draft.sync();
  } finally {
    await draft.close();
  }
  await rename(`${file}.${process.pid}`, file);
  return token;
}
