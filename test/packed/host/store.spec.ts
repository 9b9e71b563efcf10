import { Test } from '@nestjs/testing';
import { exemptPlantsFromBodyParser, PlantsAuthModule, TokenVerifier } from 'plant-store';
import { createAdapter, HostModule } from './host.module.js';

describe('the store in a test of the host', () => {
  it('should create a plant once', async () => {
    const testing = await Test.createTestingModule({ imports: [HostModule] }).compile();
    const app = testing.createNestApplication(createAdapter());
    exemptPlantsFromBodyParser(app);
    await app.listen(0, '127.0.0.1');
    const headers = { Authorization: `Bearer ${process.env.ACCESS_TOKEN}`, 'Content-Type': 'application/json' };
    const url = `${await app.getUrl()}/plants`;
    const body = '{"id": 9007199254740993, "name": "Rose"}';
    const create = async (): Promise<unknown> => (await fetch(url, { method: 'POST', headers, body })).json();
    expect(await create()).toEqual({ name: 'Rose' });
    expect(await create()).toMatchObject({ error: 40901 });
    await app.close();
  });

  it('should load what reads JWTs', async () => {
    const jwt = { issuer: 'https://id.example.com', audience: 'plants' };
    const testing = await Test.createTestingModule({ imports: [PlantsAuthModule.forRoot({ jwt })] }).compile();
    const [header, claims] = [{ alg: 'RS256' }, { iss: 'https://other.example' }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    expect(await testing.get(TokenVerifier, { strict: false }).verify(`${header}.${claims}.c2ln`)).toBeUndefined();
  });
});
