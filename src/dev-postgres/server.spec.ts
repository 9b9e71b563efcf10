import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disownPidFile, readPidFile } from './server.js';

const REST = '/data\n1700000000\n5432\n\n127.0.0.1\n  1234567   8\n';

describe(`${readPidFile.name} and ${disownPidFile.name}`, () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'plant-store-pid-'));
    path = join(directory, 'postmaster.pid');
  });

  afterEach(() => rm(directory, { recursive: true, force: true }));

  it.each([
    ['123\n', { pid: 123, ready: false }],
    ['-123\n', { pid: 123, ready: false }],
    [`123\n${REST}starting\n`, { pid: 123, port: 5432, ready: false }],
    [`123\n${REST}ready   \n`, { pid: 123, port: 5432, ready: true }],
    ['123\n/data\n1700000000\n', { pid: 123, ready: false }],
    ['', undefined],
    ['garbage\n', undefined],
  ])('should read %j', async (text, expected) => {
    await writeFile(path, text);

    expect(await readPidFile(directory)).toEqual(expected);
  });

  it('should read nothing if there is no file, and have nothing to disown', async () => {
    await disownPidFile(directory);

    expect(await readPidFile(directory)).toBeUndefined();
  });

  it('should disown the process and keep what is known of its shared memory', async () => {
    await writeFile(path, `123\n${REST}ready\n`);
    await disownPidFile(directory);

    expect(await readFile(path, 'utf8')).toBe(`${process.pid}\n${REST}ready\n`);
  });

  it('should remove a file without a process', async () => {
    await writeFile(path, '');
    await disownPidFile(directory);

    expect(await readdir(directory)).toEqual([]);
  });
});
