import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, TableLock, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { TokenCommands } from '../support/tokens/token-commands.js';

describe('plant-store serve in production, without a token', () => {
  let database: TestDatabase;
  let folder: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'plant-store-first-'));
  });
  afterEach(async () => {
    await database.drop();
    await rm(folder, { recursive: true });
  });

  const serve = (variables: Record<string, string> = {}): Promise<PlantStoreProcess> =>
    PlantStoreProcess.serve(database.url, { NODE_ENV: 'production', ACCESS_TOKENS: '', ...variables }, { cwd: folder });

  /** Ends the service, and returns what it said of tokens. What it was about to say is said then. */
  async function hints(service: PlantStoreProcess): Promise<Record<string, unknown>[]> {
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    return service.log.filter(({ message }) => String(message).includes('access token'));
  }

  it('should say so if all tokens have ended', async () => {
    const tokens = new TokenCommands(database);
    await tokens.make('create', 'ci');
    await tokens.run('revoke', 'ci');
    await tokens.make('create', 'old');
    await database.query(`UPDATE access_tokens SET expires_at = now() WHERE name = 'old'`);
    await using service = await serve();
    expect(await hints(service)).toHaveLength(1);
  });

  it('should end in time if the database does not say whether there is one', async () => {
    await using lock = await TableLock.take(database, 'access_tokens');
    await using service = await serve();
    await lock.awaited();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should say nothing if there is one in the database', async () => {
    await new TokenCommands(database).make('create', 'ci', '--expires', 'never');
    await using service = await serve();
    expect(await hints(service)).toEqual([]);
  });

  it.each([
    ['static tokens', { ACCESS_TOKENS: 'a-token-of-20-characters-or-more' }],
    ['a JWT issuer', { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'plants' }],
  ])('should say nothing if there is %s', async (_, variables) => {
    await using service = await serve(variables);
    expect(await hints(service)).toEqual([]);
  });

  it('should make no token of its own outside production either, if there is a JWT issuer', async () => {
    await using service = await serve({
      NODE_ENV: 'development',
      JWT_ISSUER: 'https://issuer.example',
      JWT_AUDIENCE: 'plants',
    });
    expect(await hints(service)).toEqual([]);
    expect(service.output).not.toContain('curl');
    expect(await readdir(folder)).toEqual([]);
  });
});
