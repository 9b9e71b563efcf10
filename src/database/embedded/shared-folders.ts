import { chmod, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where root puts what the server's user cannot reach in root's own folders. The second may not outlive a reboot. */
const CANDIDATES = ['/var/lib/plant-store', join(tmpdir(), 'plant-store')];

/** Those that can be had, best first; each is made when it is asked for, so that none is left about in vain. */
export async function* sharedFolders(): AsyncGenerator<string> {
  for (const folder of CANDIDATES) {
    try {
      if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o755);
    } catch {
      continue;
    }
    if (await isOurs(folder)) yield folder;
  }
}

export async function* existingSharedFolders(): AsyncGenerator<string> {
  for (const folder of CANDIDATES) if (await isOurs(folder)) yield folder;
}

// In /tmp anybody may have made that folder before us, and could then swap what is in it: such a one is not used.
async function isOurs(folder: string): Promise<boolean> {
  try {
    const stats = await lstat(folder);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0;
  } catch {
    return false;
  }
}
