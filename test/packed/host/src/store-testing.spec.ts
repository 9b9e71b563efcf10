import { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { BearerAuthGuard, exemptPlantsFromBodyParser, PlantsService, TokenVerifier } from 'plant-store';
import { PlantsInMemory, PlantsTestingModule } from 'plant-store/testing';
import request from 'supertest';
import { App } from 'supertest/types.js';
import { AppModule } from './app.module.js';

describe('a test of the host without its database', () => {
  let app: INestApplication<App>;

  afterEach(() => app.close());

  function create(plant: string): request.Test {
    return request(app.getHttpServer())
      .post('/plants')
      .set('Authorization', 'Bearer of-the-test')
      .set('Content-Type', 'application/json')
      .send(plant);
  }

  it('should find the plants in memory', async () => {
    const moduleRef = await Test.createTestingModule({ imports: [PlantsTestingModule.forRoot()] }).compile();
    app = moduleRef.createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.init();

    expect(await create('{"id": 9007199254740993, "name": "Rose"}')).toMatchObject({ status: 200 });
    expect(await create('{"id": 9007199254740993, "name": "Rosa"}')).toMatchObject({ body: { error: 40901 } });
    expect(app.get(PlantsInMemory).plants).toEqual([{ id: 9007199254740993n, name: 'Rose' }]);
  });

  it('should replace the providers and the guard of the store', async () => {
    const created: unknown[] = [];
    const store = (plant: { name: string }) => {
      created.push(plant);
      return Promise.resolve({ name: plant.name });
    };
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(PlantsService)
      .useValue({ create: store })
      .overrideProvider(TokenVerifier)
      .useValue({ verify: () => Promise.resolve(undefined) })
      .overrideGuard(BearerAuthGuard)
      .useValue({ canActivate: () => true })
      .compile();
    app = moduleRef.createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.init();

    expect(await create('{"id": 1, "name": "Rose"}')).toMatchObject({ status: 200, body: { name: 'Rose' } });
    expect(created).toEqual([{ id: 1n, name: 'Rose' }]);
  });
});
