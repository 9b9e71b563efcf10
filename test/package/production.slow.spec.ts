import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectCreated } from '../contract/contract-target.js';
import { INSTALL_LIMIT_MS, run, startProgram } from '../packed/packed-host.js';
import { ROOT } from '../support/documents/documents.js';
import { TOKEN } from '../support/http/request.js';

interface Lock {
  packages: Record<string, { version: string }>;
}

describe('npm run install:prod', () => {
  let folder: string;
  const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-production-'));
    for (const file of ['package.json', 'package-lock.json', '.npmrc', 'dist'])
      await cp(join(ROOT, file), join(folder, file), { recursive: true });
    await run(folder, 'npm run install:prod --prefer-offline --no-audit --no-fund', {}, INSTALL_LIMIT_MS);
  }, INSTALL_LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true }));

  it('should install the locked versions of what the service needs, and nothing of development', async () => {
    const installed = JSON.parse(await read('node_modules/.package-lock.json')) as Lock;
    const locked = JSON.parse(await read('package-lock.json')) as Lock;
    for (const [path, { version }] of Object.entries(installed.packages))
      expect([path, version]).toEqual([path, locked.packages[path]?.version]);
    const { devDependencies } = JSON.parse(await read('package.json')) as { devDependencies: object };
    const folders = await readdir(join(folder, 'node_modules'));
    const development = Object.keys(devDependencies).filter((name) => folders.includes(name));
    expect(development).toEqual(['express']);
    for (const file of ['package.json', 'package-lock.json'])
      expect(await read(file)).toBe(await readFile(join(ROOT, file), 'utf8'));
  });

  it('should be all that node dist/main.js needs behind a build', async () => {
    const of = { BASE_PATH: '/api', HOST: '127.0.0.1', MANAGEMENT_PORT: '0', NODE_ENV: 'production' };
    const variables = { ACCESS_TOKENS: TOKEN, ...of };
    const service = await startProgram(join(folder, 'dist/main.js'), '/api', { variables, cwd: folder });
    try {
      expectCreated(await service.post('{"id": 1, "name": "Rose"}'), { name: 'Rose' });
    } finally {
      await service.stop();
    }
  });
});
