import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { expectWithin } from '../support/stopwatch.js';
import { TokenCommands } from '../support/tokens/token-commands.js';
import { until } from '../support/until.js';

const WITHIN_MS = 2000;

describe('plant-store token, during a running service', () => {
  let database: TestDatabase;
  let commands: TokenCommands;
  let services: PlantStoreProcess[];
  let plants = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
    const variables = { NODE_ENV: 'production', ACCESS_TOKENS: '', LOG_LEVEL: 'trace' };
    services = await Promise.all([1, 2].map(() => PlantStoreProcess.serve(database.url, variables)));
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
    await database.drop();
  });

  /** What each service answers to a create with this token. */
  const answers = (token: string): Promise<string[]> =>
    Promise.all(
      services.map(async (service) => {
        const answer = await service.post(`{"id":${++plants},"name":"Rose"}`, { Authorization: `Bearer ${token}` });
        return answer?.status === 200 ? '200' : (/"error":(\d+)/.exec(String(answer?.body))?.[1] ?? '');
      }),
    );

  /** They may go on as before for so long, and no longer. */
  const expectSoon = (token: string, error: string): Promise<void> =>
    expectWithin(WITHIN_MS, async () => (await answers(token)).every((answer) => answer === error));

  it('should make a token that creates plants at once, until it is revoked', async () => {
    const { token } = await commands.make('create', '--name', 'ci');
    expect(await answers(token)).toEqual(['200', '200']);
    await commands.run('revoke', 'ci');
    await expectSoon(token, '40101');
  });

  it('should have old and new one valid during the overlap of a rotation', async () => {
    const { token: old } = await commands.make('create', '--name', 'rotated');
    expect(await answers(old)).toEqual(['200', '200']);
    const { token: next } = await commands.make('rotate', 'rotated', '--overlap', '1h');
    expect(await answers(next)).toEqual(['200', '200']);
    expect(await answers(old)).toEqual(['200', '200']);
    const { token: last } = await commands.make('rotate', 'rotated', '--overlap', '0');
    await expectSoon(old, '40101');
    await expectSoon(next, '40101');
    expect(await answers(last)).toEqual(['200', '200']);
  });

  it('should make a token that ends by itself', async () => {
    const { token } = await commands.make('create', '--name', 'brief', '--expires', '6s');
    expect(await answers(token)).toEqual(['200', '200']);
    await until(async () => (await answers(token)).every((answer) => answer === '40101'));
    expect(await commands.list('brief')).toMatchObject([{ state: 'expired' }]);
  });

  it('should make a token of another scope, which creates no plants', async () => {
    const { token } = await commands.make('create', '--name', 'reader', '--scope', 'orders:read');
    expect(await answers(token)).toEqual(['40300', '40300']);
  });

  it('should take up a name anew after its token was revoked', async () => {
    const { token } = await commands.make('create', '--name', 'ci');
    expect(await answers(token)).toEqual(['200', '200']);
  });

  it('should leave no token and no digest in any output', async () => {
    for (const service of services) service.signal('SIGTERM');
    expect(await Promise.all(services.map(({ ended }) => ended))).toEqual([0, 0]);
    commands.expectNothingTold();
    for (const { output } of services)
      for (const token of commands.tokens) expect(output).not.toContain(token.slice(6, 20));
  });
});
