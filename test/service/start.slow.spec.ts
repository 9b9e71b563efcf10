import { expect, it } from '@jest/globals';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TakenPort } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';

it('should leave no PostgreSQL of its own behind if the port of the service is taken', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-start-'));
  // Or root's server, which runs as another user, would have its data outside of it.
  await chmod(folder, 0o755);
  using taken = await TakenPort.take();
  const variables = { HOST: '127.0.0.1', PORT: String(taken.number), MANAGEMENT_PORT: '0' };
  const service = await PlantStoreProcess.run('serve', variables, { cwd: folder });

  expect(await service.ended).toBe(1);
  expect(service.stderr).toMatch(`PORT: ${taken.number} on "127.0.0.1" is taken`);
  await readFile(join(folder, '.data/postgres/PG_VERSION'));
  await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
  await rm(folder, { recursive: true });
});
