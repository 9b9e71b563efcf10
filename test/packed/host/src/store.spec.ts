import { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { exemptPlantsFromBodyParser } from 'plant-store';
import request from 'supertest';
import { App } from 'supertest/types.js';
import { AppModule } from './app.module.js';

describe('the store of the host', () => {
  let app: INestApplication<App>;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = moduleRef.createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.init();
  });
  afterEach(() => app.close());

  it('should create a plant', async () => {
    const id = '9007199254740993';
    const response = await request(app.getHttpServer())
      .post('/plants')
      .set('Authorization', `Bearer ${process.env.ACCESS_TOKEN}`)
      .set('Content-Type', 'application/json')
      .send(`{"id": ${id}, "name": "Rose"}`);

    expect(response.status).toBe(200);
    expect(response.body).toEqual({ name: 'Rose' });
  });

  it('should refuse one without a credential', async () => {
    const response = await request(app.getHttpServer()).post('/plants').send({ id: 1, name: 'Rose' });

    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: 40100 });
  });
});
