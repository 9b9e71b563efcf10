import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresBinaries } from './binaries.js';
import { initdb } from './data-directory.js';
import { ServerUser } from './server-home.js';

describe(initdb.name, () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-initdb-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function runInstead(script: string): Promise<void> {
    const program = join(folder, 'initdb');
    await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await initdb(folder, { initdb: program } as PostgresBinaries, ServerUser.ourselves, 'secret');
  }

  it('should say what initdb said', async () => {
    await expect(runInstead('echo no space left; exit 3')).rejects.toThrow('initdb failed with code 3:\nno space left');
  });

  it('should fail if there is no such program', async () => {
    const programs = { initdb: join(folder, 'missing') } as PostgresBinaries;

    await expect(initdb(folder, programs, ServerUser.ourselves, 'secret')).rejects.toThrow('ENOENT');
  });
});
