import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { PlantsAuthModule, PlantsModule, TokenVerifier } from 'plant-store';

describe('the store in a test of the host', () => {
  it('should create a plant once', async () => {
    const imports = [PlantsModule.forRoot({ database: { url: process.env.DATABASE_URL ?? '' }, guards: 'none' })];
    const testing = await Test.createTestingModule({ imports }).compile();
    const app = testing.createNestApplication(new FastifyAdapter(), { rawBody: true });
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/plants`;
    const headers = { 'Content-Type': 'application/json' };
    const body = '{"id": 9007199254740993, "name": "Rose"}';
    for (const expected of [{ name: 'Rose' }, { error: 40901 }])
      expect(await (await fetch(url, { method: 'POST', headers, body })).json()).toMatchObject(expected);
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
