import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from './folder-lock.js';

describe(lockFolder.name, () => {
  let directory: string;
  const held: AsyncDisposable[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-lock-'));
  });

  afterEach(async () => {
    for (const lock of held.splice(0)) await lock[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  async function acquire(folder = directory): Promise<unknown> {
    const result = await lockFolder(folder);
    if ('pid' in result) return result;
    held.push(result);
    return 'held';
  }

  it('should be held by one, and tell the others its owner', async () => {
    expect(await acquire()).toBe('held');
    expect(await acquire()).toEqual({ pid: process.pid });
  });

  it('should be given to one of many that come at once', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => acquire()));

    expect(results.filter((result) => result === 'held')).toHaveLength(1);
  });

  it('should be free after its release', async () => {
    await acquire();
    await held.pop()?.[Symbol.asyncDispose]();

    expect(await acquire()).toBe('held');
  });

  it('should be one lock for all names of a folder', async () => {
    await acquire();
    const name = join(directory, 'name');
    await symlink(directory, name);

    expect(await acquire(name)).toEqual({ pid: process.pid });
  });

  it('should be another lock for another folder', async () => {
    await acquire();
    const other = join(directory, 'other');
    await mkdir(other);

    expect(await acquire(other)).toBe('held');
  });
});
