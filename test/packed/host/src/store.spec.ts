import { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { PlantsAuthModule, exemptPlantsFromBodyParser, Migrator, TokenVerifier } from 'plant-store';
import request from 'supertest';
import { App } from 'supertest/types.js';
import { AppModule } from './app.module.js';

// In Jest import() needs this flag.
const importing = process.env.VITEST || process.execArgv.includes('--experimental-vm-modules') ? it : it.skip;

describe('the store of the host', () => {
  let app: INestApplication<App>;

  beforeEach(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = moduleRef.createNestApplication();
    exemptPlantsFromBodyParser(app);
    await app.init();
  });
  afterEach(() => app.close());

  function create(plant: string): request.Test {
    return request(app.getHttpServer())
      .post('/plants')
      .set('Authorization', `Bearer ${process.env.ACCESS_TOKEN}`)
      .set('Content-Type', 'application/json')
      .send(plant);
  }

  it('should create a plant, and know that its id is taken', async () => {
    const plant = '{"id": 9007199254740993, "name": "Rose"}';

    expect(await create(plant)).toMatchObject({ status: 200, body: { name: 'Rose' } });
    expect(await create(plant)).toMatchObject({ status: 400, body: { error: 40901 } });
  });

  it('should answer a create that is sent again as the first time', async () => {
    const plant = '{"id": 9007199254740994, "name": "Rose"}';

    expect(await create(plant).set('Idempotency-Key', 'once')).toMatchObject({ status: 200 });
    expect(await create(plant).set('Idempotency-Key', 'once')).toMatchObject({ status: 200 });
  });

  it('should refuse one without a credential', async () => {
    const response = await request(app.getHttpServer()).post('/plants').send({ id: 1, name: 'Rose' });

    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ error: 40100 });
  });

  it('should migrate, without import()', async () => {
    const migrator = new Migrator({ url: process.env.DATABASE_URL ?? '', schema: 'another' });

    expect(await migrator.migrate()).not.toEqual([]);
  });

  importing('should import what reads JWTs', async () => {
    const jwt = { issuer: 'https://id.example.com', audience: 'plants' };
    const moduleRef = await Test.createTestingModule({ imports: [PlantsAuthModule.forRoot({ jwt })] }).compile();
    const [header, claims] = [{ alg: 'RS256' }, { iss: 'https://other.example' }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );

    expect(await moduleRef.get(TokenVerifier, { strict: false }).verify(`${header}.${claims}.c2ln`)).toBeUndefined();
  });
});
