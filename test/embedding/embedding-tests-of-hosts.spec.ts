import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type INestApplication, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  PlantsAuthModule,
  BearerAuthGuard,
  exemptPlantsFromBodyParser,
  type NewPlant,
  PlantsHealth,
  PlantsModule,
  PlantsService,
} from '../../src/index.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { TOKEN } from '../support/http/request.js';

@Module({
  imports: [
    PlantsModule.forRoot({
      // Nothing listens there.
      database: { url: 'postgresql://gardener@127.0.0.1:1/plants' },
      guards: [BearerAuthGuard],
      imports: [PlantsAuthModule.forRoot({ accessTokens: [TOKEN] })],
    }),
  ],
})
class AppModule {}

describe.each(PLATFORMS)('a test of a host on %s, without its database', (platform) => {
  let app: INestApplication;
  const created: NewPlant[] = [];

  beforeEach(async () => {
    const create = ({ id, name, tag }: NewPlant): Promise<object> => {
      created.push({ id, name, ...(tag !== undefined && { tag }) });
      return Promise.resolve({ name, tag });
    };
    const testing = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(PlantsService)
      .useValue({ create })
      .compile();
    app = testing.createNestApplication(adapterOf(platform));
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');
  });
  afterEach(async () => {
    created.length = 0;
    await app.close();
  });

  async function post(body: string, token = TOKEN): Promise<[status: number, body: unknown]> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body });
    return [response.status, await response.json()];
  }

  it('should give the exact plant to the service of the test, and answer with what that returns', async () => {
    expect(await post('{"id": 9007199254740993, "name": "Rose", "tag": "flower"}')).toEqual([
      200,
      { name: 'Rose', tag: 'flower' },
    ]);
    expect(await post('{"id": 5.0, "name": "Fern"}')).toEqual([200, { name: 'Fern' }]);
    expect(created).toEqual([
      { id: 9007199254740993n, name: 'Rose', tag: 'flower' },
      { id: 5n, name: 'Fern' },
    ]);
  });

  it('should check the credential and the fields as in production', async () => {
    expect(await post('{"id": 1, "name": "Rose"}', 'a-wrong-token-of-a-test')).toMatchObject([400, { error: 40101 }]);
    expect(await post('{"id": 1}')).toMatchObject([400, { error: 40003 }]);
    expect(created).toEqual([]);
  });

  it('should say that there is no database', async () => {
    await expect(app.get(PlantsHealth, { strict: false }).check()).rejects.toThrow('cannot be reached');
  });
});
