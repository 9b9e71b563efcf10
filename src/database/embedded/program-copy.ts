import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';

/**
 * Makes `target` a copy of `source` that everybody may read. It appears under its name all at once, whoever else copies
 * at the same time. A copy that is there already is kept if it is complete: after a loss of power it may have its name
 * and not all of its bytes.
 */
export async function copyPrograms(source: string, target: string): Promise<void> {
  const sizes = await fileSizes(source);
  if (await isComplete(target, sizes)) return;
  await removeForgottenDrafts(target);
  const draft = await mkdtemp(`${target}.`);
  try {
    await copyInto(draft, source, [...sizes.keys()]);
    await rename(draft, target).catch(async (error: unknown) => {
      if (await isComplete(target, sizes)) return;
      const broken = `${draft}.broken`;
      await rename(target, broken).catch(() => {
        throw error;
      });
      await rename(draft, target);
      await rm(broken, { recursive: true, force: true });
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

// Of processes killed at their copying, which takes seconds.
async function removeForgottenDrafts(target: string): Promise<void> {
  for (const entry of await readdir(dirname(target))) {
    if (!entry.startsWith(`${basename(target)}.`)) continue;
    const draft = join(dirname(target), entry);
    const age = Date.now() - (await stat(draft).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
    if (age > 3_600_000) await rm(draft, { recursive: true, force: true });
  }
}

async function fileSizes(root: string): Promise<Map<string, number>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return new Map(paths.map((path, index) => [relative(root, path), sizes[index] ?? 0]));
}

async function isComplete(target: string, sizes: Map<string, number>): Promise<boolean> {
  const matches = await Promise.all(
    [...sizes].map(([file, size]) =>
      stat(join(target, file)).then(
        (stats) => stats.size === size,
        () => false,
      ),
    ),
  );
  return matches.every(Boolean);
}

// With modes of its own: a strict umask during `npm ci` leaves files that only their owner can read.
async function copyInto(target: string, source: string, files: string[]): Promise<void> {
  for (const folder of new Set(files.map((file) => join(target, dirname(file))))) {
    await mkdir(folder, { recursive: true });
  }
  await Promise.all(
    files.map(async (file) => {
      await copyFile(join(source, file), join(target, file));
      await chmod(join(target, file), dirname(file) === 'bin' ? 0o755 : 0o644);
    }),
  );
  const folders = await readdir(target, { recursive: true, withFileTypes: true });
  for (const folder of folders.filter((entry) => entry.isDirectory())) {
    await chmod(join(folder.parentPath, folder.name), 0o755);
  }
  await chmod(target, 0o755);
}
