import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IssuedTokenVerifier } from '../src/auth/issued/issued-token-verifier.js';
import { makeToken } from '../src/auth/issued/token-form.js';
import { bearer, issueToken } from './support/issued-token.js';
import { PlantStoreProcess } from './support/process.js';
import { errorOf, NO_PLANT } from './support/store-instances.js';
import { TcpProxy } from './support/tcp-proxy.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { until } from './support/until.js';

describe('The connection for access tokens', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let token: string;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    ({ token } = await issueToken(database));
  });
  afterEach(async () => {
    proxy.restore();
    await proxy.close();
    await database.drop();
  });

  it.each([
    ['that answers', (): void => undefined],
    [
      'that is silent',
      (): void => {
        proxy.freeze();
      },
    ],
    [
      'that is away',
      (): void => {
        proxy.reset();
      },
    ],
  ])('should end with the application, on a database %s', async (_, fail) => {
    const verifier = new IssuedTokenVerifier({ url: proxy.url });
    expect(await verifier.verify(token)).toMatchObject({ name: 'gardener' });
    fail();
    // Waits for the database, or is refused by then.
    const unknown = Promise.resolve(verifier.verify(makeToken())).catch((error: unknown) => error);

    const start = performance.now();
    await verifier.onApplicationShutdown();
    expect(performance.now() - start).toBeLessThan(3000);
    expect(await unknown).not.toHaveProperty('scopes');
    await expect(verifier.verify(makeToken())).rejects.toThrow('shut down');
    proxy.restore();
    await until(() => proxy.connections === 0);
  });

  it('should not keep a process from ending that does not close its application', async () => {
    const script = new URL('support/verify-once.mjs', import.meta.url).pathname;
    const run = new PlantStoreProcess([proxy.url, token], { script });
    expect(await run.ended).toBe(0);
    expect(run.output).toBe('gardener\n');
    await until(() => proxy.connections === 0);
  });

  it('should be told of in the log once when it is lost, and once when it is back', async () => {
    const service = await PlantStoreProcess.serve(proxy.url, { STORAGE_TIMEOUT: '1000' });
    try {
      const lines = (text: string): unknown[] =>
        service.log.filter(
          ({ context, message }) => context === 'IssuedTokenVerifier' && String(message).includes(text),
        );
      expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(40003);
      proxy.reset();
      for (let i = 0; i < 5; i++) expect(errorOf(await service.post(NO_PLANT, bearer(makeToken())))).toBe(50300);
      expect(lines('cannot be looked up')).toHaveLength(1);
      proxy.restore();
      await service.printed(/can be looked up again/);
      expect(lines('')).toEqual([
        expect.objectContaining({
          level: 'warn',
          message: expect.stringMatching(/valid for 5 more minutes/),
        }),
        expect.objectContaining({ level: 'log' }),
      ]);
    } finally {
      await service[Symbol.asyncDispose]();
    }
  });
});
