import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

describe('DATABASE_PASSWORD_FILE', () => {
  const role = `gardener_${randomBytes(4).toString('hex')}`;
  let database: TestDatabase;
  let folder: string;
  let file: string;

  /** As an operator rotates it: the role first, then the file; old connections end. */
  async function setPassword(password: string): Promise<void> {
    await database.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
    await writeFile(file, `${password}\n`, { mode: 0o600 });
    await database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
  }

  beforeEach(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'plant-store-password-'));
    file = join(folder, 'password');
    await database.query(`CREATE ROLE ${role} LOGIN;
      GRANT ALL ON plants, access_tokens, _prisma_migrations TO ${role}`);
    await setPassword('the-first-password');
  });
  afterEach(async () => {
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('should be read again for each connection, of creates and of token look-ups', async () => {
    const { headers } = await issueToken(database);
    const url = new URL(database.url);
    url.username = role;
    url.password = '';
    await using service = await PlantStoreProcess.serve(url.href, { DATABASE_PASSWORD_FILE: file });
    const create = async (id: number): Promise<number | undefined> =>
      (await service.post(`{"id":${id},"name":"Rose"}`, headers))?.status;
    expect(await create(1)).toBe(200);

    await setPassword('the-second-password');
    await until(async () => (await create(2)) === 200);
    const other = await issueToken(database, { name: 'other' });
    const response = await service.post('{"id":3,"name":"Rose"}', other.headers);
    expect(response?.status).toBe(200);

    await writeFile(file, '');
    await database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
    await until(() => service.output.includes('is empty, should be a file that holds the secret'));
    await writeFile(file, 'the-second-password');
    await until(async () => (await create(4)) === 200);
    expect(service.output).not.toMatch(/the-(first|second)-password/);
  });

  it('should be read once if it is a pipe', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const writing = promisify(execFile)('sh', ['-c', `cat "${file}" >"${pipe}"`]);
    const { headers } = await issueToken(database);
    const url = new URL(database.url);
    url.username = role;
    url.password = '';
    await using service = await PlantStoreProcess.serve(url.href, { DATABASE_PASSWORD_FILE: pipe });
    await writing;
    await database.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
    await until(async () => (await service.post('{"id":5,"name":"Rose"}', headers))?.status === 200);
  });
});
