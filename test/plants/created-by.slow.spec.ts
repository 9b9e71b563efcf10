import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer, issueToken } from '../support/tokens/issued-token.js';
import { JwtIssuer, signingKey, SUBJECT } from '../support/tokens/jwt-issuer.js';

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

  it('should be who an issued token was made for, the subject of a JWT, or just the configuration for a static token', async () => {
    const { headers } = await issueToken(database, { name: 'greenhouse' });
    await using issuer = await JwtIssuer.start([await signingKey('a')]);
    await using service = await PlantStoreProcess.serve(database.url, issuer.variables);
    const credentials = [headers, bearer(issuer.token()), bearer(issuer.token({ sub: 'Zoë 🌱' })), {}, headers];
    for (const [id, credential] of credentials.entries()) {
      expect(await service.post(`{"id":${id},"name":"Rose"}`, credential)).toMatchObject({ status: 200 });
    }

    expect(await creators()).toEqual(['greenhouse', `jwt:${SUBJECT}`, 'jwt:Zoë 🌱', 'static', 'greenhouse']);
  });
});
