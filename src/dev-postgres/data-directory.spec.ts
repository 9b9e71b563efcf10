import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { PostgresBinaries } from './binaries.js';
import { Initdb } from './data-directory.js';
import { ServerUser } from './server-home.js';

describe(Initdb.name, () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-initdb-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function runInstead(script: string): Promise<void> {
    const initdb = join(folder, 'initdb');
    await writeFile(initdb, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await new Initdb(folder).run({ initdb } as PostgresBinaries, ServerUser.ourselves, 'secret');
  }

  it('should say what initdb said', async () => {
    await expect(runInstead('echo no space left; exit 3')).rejects.toThrow('initdb failed with code 3:\nno space left');
  });

  it('should fail where there is no such program', async () => {
    const programs = { initdb: join(folder, 'missing') } as PostgresBinaries;

    await expect(new Initdb(folder).run(programs, ServerUser.ourselves, 'secret')).rejects.toThrow('ENOENT');
  });

  it('should end one that is still at work, with its children, and remove its folder', async () => {
    // Its arguments name the folder, by which it is known.
    const running = runInstead(`sh -c 'while :; do sleep 0.01; : > ${folder}/busy; done' & wait`);
    const ended = expect(running).rejects.toThrow();
    while ((await readFile(join(folder, 'pid'), 'utf8').catch(() => '')) === '') await setTimeout(1);
    await new Initdb(folder).discard();

    await ended;
    await expect(access(folder)).rejects.toThrow('ENOENT');
  });
});
