import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { ISSUED_TOKEN, type ListedToken } from '../support/tokens/token-commands.js';

describe('plant-store token, without a database', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-token-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const token = (...args: string[]): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(['token', ...args], {}, { cwd: folder });
  const serve = async (): Promise<PlantStoreProcess> => {
    const variables = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };
    return new PlantStoreProcess(['serve'], { cwd: folder, variables }).listening();
  };
  const names = async (): Promise<string[]> => {
    const { stdout } = await token('list', '--json');
    return (JSON.parse(stdout) as ListedToken[]).map(({ name }) => name);
  };

  it('should say what to set if nothing was ever started, and leave nothing behind', async () => {
    const refused = await token('create', 'me');
    expect([refused.stdout, await refused.ended]).toEqual(['', 78]);
    expect(refused.stderr).toMatch(
      /^DATABASE_URL: is missing, .*nothing was ever started in this folder \(no .*\.data\)$/m,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('should work on the database of the service that runs in the folder', async () => {
    await using service = await serve();
    const made = await token('create', 'me');
    expect([made.stderr, await made.ended]).toEqual([expect.stringContaining('Access token me, with the id 1'), 0]);
    expect(made.stdout.trimEnd()).toMatch(ISSUED_TOKEN);
    expect(made.stdout).toBe(`${made.stdout.trimEnd()}\n`);
    expect(await names()).toEqual(['me']);
    expect((await service.post('{"id":1,"name":"Rose"}', bearer(made.stdout.trimEnd())))?.status).toBe(200);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should work on it if the service does not run, and be out of the way afterwards', async () => {
    const made = await token('create', 'you');
    expect(await made.ended).toBe(0);
    expect(made.stdout.trimEnd()).toMatch(ISSUED_TOKEN);
    await using service = await serve();
    expect(await names()).toEqual(['me', 'you']);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should work on it after the service was killed, and its server lives on', async () => {
    const service = await serve();
    service.signal('SIGKILL');
    await service.ended;
    expect(await names()).toEqual(['me', 'you']);
  });
});
