import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, chown, link, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';

// Only root can give files away.
const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

describe('The folder .data', () => {
  let folder: string;
  let data: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-folder-'));
    await chmod(folder, 0o755);
    data = join(folder, '.data');
    file = join(data, 'access-token');
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const start = (): PlantStoreProcess =>
    new PlantStoreProcess(['serve'], { cwd: folder, variables: { PORT: '0', MANAGEMENT_PORT: '0' } });
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

  async function expectRefused(reason: string | RegExp): Promise<void> {
    const service = start();
    expect(await service.ended).toBe(78);
    expect(service.stderr).toMatch(/^plant-store: The configuration cannot be used:\n/);
    expect(service.stderr).toMatch(reason);
    expect(service.stderr).toContain(data);
    expect(service.stderr.trim().split('\n')).toHaveLength(2);
    expect(service.output).not.toContain(TOKEN);
  }

  it('should be writable by its owner alone, who alone can read its secrets', async () => {
    const before = process.umask(0);
    await using service = start();
    process.umask(before);
    await service.printed(/^curl .*\n/m);
    expect(await modeOf(data)).toBe(0o755);
    for (const secret of [file, join(data, 'database-url')]) expect(await modeOf(secret)).toBe(0o600);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should be refused if others may write it, and lead nobody to a URL that they have chosen', async () => {
    await mkdir(data);
    await writeFile(join(folder, 'known'), 'known', { mode: 0o666 });
    await symlink(join(folder, 'known'), join(data, 'database-url'));
    await chmod(data, 0o777);
    await expectRefused('others may write it, or it is no folder, should be a folder that only its owner may write');
    await chmod(data, 0o755);
    await using service = start();
    await service.printed(/^curl .*\n/m);
    expect(await readFile(join(folder, 'known'), 'utf8')).toBe('known');
    expect(await readFile(join(data, 'database-url'), 'utf8')).toMatch(/^postgresql:/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  describe('with a token', () => {
    beforeEach(async () => {
      await mkdir(data);
      await writeFile(file, TOKEN, { mode: 0o600 });
    });

    itAsRoot("should refuse a stranger's", async () => {
      await chown(file, 12_345, 12_345);
      await expectRefused(
        'access-token: others may have written it, or it is no file, should be a file that only this user may write',
      );
    });

    itAsRoot("should accept its owner's", async () => {
      await chown(data, 12_345, 12_345);
      await chown(file, 12_345, 12_345);
      await using service = start();
      const [command] = await service.printed(/^curl .*\n/m);
      expect(command).toContain(TOKEN);
      service.signal('SIGTERM');
      await service.ended;
    });

    it.each([0o620, 0o602])('should refuse one that others may write, with mode %o', async (mode) => {
      await chmod(file, mode);
      await expectRefused('access-token: others may have written it');
      expect((await readFile(file, 'utf8')).trim()).toBe(TOKEN);
    });

    it.each([
      ['symbolic', symlink],
      ['hard', link],
    ])('should refuse a %s link to a file whose content others may know', async (_, makeLink) => {
      await writeFile(join(folder, 'known'), TOKEN, { mode: 0o644 });
      await rm(file);
      await makeLink(join(folder, 'known'), file);
      await expectRefused('access-token: ');
    });
  });

  it.each(['.data', '.data/access-token'])('should say what is wrong if %s is something else', async (path) => {
    if (path === '.data') await writeFile(data, '');
    else await mkdir(file, { recursive: true });
    await expectRefused(/^\/.*, should be a fil|^\/.*, should be a fold/m);
  });
});
