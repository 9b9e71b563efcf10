import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { SUBJECT } from '../support/tokens/forged-jwt.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { OidcIssuer } from '../support/tokens/oidc-issuer.js';

describe('Who created a plant', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const creators = async (): Promise<(string | null)[]> => {
    const rows = await database.query<{ created_by: string | null }>('SELECT created_by FROM plants ORDER BY id');
    return rows.map(({ created_by }) => created_by);
  };

  it('should be stored with each plant, however many are created in one statement', async () => {
    await using service = await PlantStoreProcess.serve(database.url);
    const ids = Array.from({ length: 40 }, (_, index) => index);
    const answers = await Promise.all(ids.map((id) => service.post(`{"id":${id},"name":"Rose"}`)));

    expect(answers.filter((answer) => answer?.status !== 200)).toEqual([]);
    expect(await creators()).toEqual(ids.map(() => 'static'));
  });

  it('should be logged with each plant that is created, from the level debug on, with its exact id', async () => {
    await using service = await PlantStoreProcess.serve(database.url, { LOG_LEVEL: 'debug' });
    for (const id of ['9007199254740993', '9007199254740993']) await service.post(`{"id":${id},"name":"Rose"}`);
    await service.printed(/A plant was created.*\n/);

    expect(service.log.filter(({ message }) => message === 'A plant was created')).toMatchObject([
      { level: 'debug', id: '9007199254740993', createdBy: 'static' },
    ]);
    expect(service.output).not.toContain('Rose');
  });

  it('should be who an issued token was made for, the subject of a JWT, or just the configuration for a static token', async () => {
    const { headers } = await issueToken(database, { name: 'greenhouse' });
    const managementPort = await freePort();
    await using issuer = await OidcIssuer.start();
    await using service = await PlantStoreProcess.serve(database.url, {
      ...issuer.variables,
      LOG_LEVEL: 'debug',
      MANAGEMENT_PORT: String(managementPort),
    });
    const credentials = [headers, bearer(await issuer.token()), bearer(issuer.forge({ sub: 'Zoë 🌱' })), {}, headers];
    for (const [id, credential] of credentials.entries()) {
      expect(await service.post(`{"id":${id},"name":"Rose"}`, credential)).toMatchObject({ status: 200 });
    }

    const expected = ['greenhouse', `jwt:${SUBJECT}`, 'jwt:Zoë 🌱', 'static', 'greenhouse'];
    expect(await creators()).toEqual(expected);

    const logged = (): unknown[] =>
      service.log.filter(({ message }) => message === 'A plant was created').map(({ createdBy }) => createdBy);
    await service.printed(/("A plant was created".*\n[^]*?){5}/);
    expect(logged()).toEqual(expected);

    const page = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
    // An issuer has any number of subjects, so they are one.
    expect(page.match(/^plant_store_plants_created_by_total.+$/gm)?.sort()).toEqual([
      'plant_store_plants_created_by_total{token="greenhouse"} 2',
      'plant_store_plants_created_by_total{token="jwt"} 2',
      'plant_store_plants_created_by_total{token="static"} 1',
    ]);
  });
});
