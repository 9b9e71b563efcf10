import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bearer, issueToken } from './support/issued-token.js';
import { PlantStoreProcess } from './support/process.js';
import { errorOf, NO_PLANT } from './support/store-instances.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

describe('A role that may not read access tokens', () => {
  let database: TestDatabase;
  let role: string;
  let url: URL;

  beforeEach(async () => {
    database = await createTestDatabase();
    role = `role_${randomBytes(6).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await database.query(`GRANT SELECT ON _prisma_migrations TO ${role}`);
    await database.query(`GRANT SELECT, INSERT ON plants TO ${role}`);
    url = new URL(database.url);
    url.username = role;
    url.password = 'secret';
  });
  afterEach(async () => {
    await database.query(`DROP OWNED BY ${role}`);
    await database.query(`DROP ROLE ${role}`);
    await database.drop();
  });

  it('should decide about static tokens, and say of others that it can not', async () => {
    const { token } = await issueToken(database);
    const service = await PlantStoreProcess.serve(url.href);
    try {
      expect((await service.post('{"id":1,"name":"Rose"}'))?.status).toBe(200);
      expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(50300);
      await service.printed(/permission denied for table access_tokens/);

      await database.query(`GRANT SELECT ON access_tokens TO ${role}`);
      expect(errorOf(await service.post(NO_PLANT, bearer(token)))).toBe(40003);
      await service.printed(/last use of access tokens cannot be recorded: permission denied/);
    } finally {
      await service[Symbol.asyncDispose]();
    }
  });
});
