import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const OLD = 'the-old-token-0123456789';
const NEW = 'the-new-token-0123456789';
const OTHER = 'the-other-token-0123456789';
/** The promise, and the time of a request on a busy machine. */
const LIMIT_MS = 2500;

describe('ACCESS_TOKENS_FILE, while the service runs', () => {
  let database: TestDatabase;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-tokens-'));
    file = join(folder, 'access-tokens');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const serve = (variables: Record<string, string> = {}): Promise<PlantStoreProcess> =>
    PlantStoreProcess.serve(database.url, {
      ACCESS_TOKENS: '',
      ACCESS_TOKENS_FILE: file,
      LOG_FORMAT: 'json',
      ...variables,
    });
  /** A create that is refused for its body, but only with a valid token. */
  const isValid = async (service: PlantStoreProcess, token: string): Promise<boolean> => {
    const response = await service.post('{}', bearer(token));
    return !String(response?.body).includes('40101');
  };
  const linesOf = (service: PlantStoreProcess, level: string): string[] =>
    service.log.flatMap((line) => (line.context === 'TokenFile' && line.level === level ? String(line.message) : []));

  it('should have the new tokens in effect within two seconds, and refuse the old ones', async () => {
    await writeFile(file, `${OLD}\n`);
    await using service = await serve({ LOG_REQUESTS: 'all' });
    expect([await isValid(service, OLD), await isValid(service, NEW)]).toEqual([true, false]);
    await writeFile(file, `${NEW}, ${OTHER}\n`);
    await until(async () => (await isValid(service, NEW)) && !(await isValid(service, OLD)), LIMIT_MS);
    expect(await isValid(service, OTHER)).toBe(true);
    expect(linesOf(service, 'info')).toEqual(['ACCESS_TOKENS_FILE has changed. Valid static tokens: 2']);
    expect(service.output).not.toMatch(new RegExp(`${OLD}|${NEW}|${OTHER}`));
  });

  it('should notice that a symbolic link names another folder, as Kubernetes changes it', async () => {
    for (const [name, token] of Object.entries({ one: OLD, two: NEW })) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'access-tokens'), token);
    }
    await symlink('one', join(folder, 'data'));
    await symlink('data/access-tokens', file);
    await using service = await serve();
    expect(await isValid(service, OLD)).toBe(true);
    await symlink('two', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'data'));
    await until(async () => (await isValid(service, NEW)) && !(await isValid(service, OLD)), LIMIT_MS);
  });

  it('should keep the tokens while the file is bad, and log each fault once without a token', async () => {
    await writeFile(file, OLD);
    await using service = await serve();
    const faults = (): string[] => linesOf(service, 'error');
    const changes: [() => Promise<void>, RegExp][] = [
      [() => writeFile(file, `${NEW} too-short`), /token 2 of 2 is too short, should have at least 20 characters\. /],
      [() => writeFile(file, '\n'), /holds no token\. /],
      [() => rm(file), /cannot be read \(ENOENT\)\. /],
      [() => writeFile(file, ' , '), /holds no token\. /],
    ];
    for (const [index, [change, fault]] of changes.entries()) {
      await change();
      await until(() => faults().length > index);
      expect(faults()[index]).toMatch(fault);
      expect(faults()[index]).toMatch(/^ACCESS_TOKENS_FILE: .*\. The tokens stay as they were$/);
      expect(faults()[index]).toContain(file);
      expect([await isValid(service, OLD), await isValid(service, NEW)]).toEqual([true, false]);
    }
    await writeFile(file, NEW);
    await until(async () => (await isValid(service, NEW)) && !(await isValid(service, OLD)), LIMIT_MS);
    expect(faults()).toHaveLength(changes.length);
    expect(service.output).not.toMatch(new RegExp(`${OLD}|${NEW}|too-short`));
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});
