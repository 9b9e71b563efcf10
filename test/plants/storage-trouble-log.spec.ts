import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { expectRefusal } from '../support/http/refusal.js';
import { PlantStoreProcess } from '../support/service/process.js';

const PLANT = '{"id":1,"name":"a name that is nobody else\'s business"}';

describe('A failure of the service itself', () => {
  let database: TestDatabase;
  let service: PlantStoreProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    service = await PlantStoreProcess.serve(database.url);
    await database.query('ALTER TABLE plants RENAME TO lost_plants');
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  it('should be answered with 50000 and a request id, under which the log has the details', async () => {
    const response = await service.post(PLANT);

    expect(expectRefusal(response, 50000, 'contract')).not.toMatch(/relation|INSERT|public|plants"|Prisma/);
    const id = response?.headers['x-request-id'];
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await service.printed(new RegExp(`${id ?? ''}.*\n`));
    const [entry] = service.log.filter(({ level, requestId }) => level === 'error' && requestId === id);
    expect(entry).toMatchObject({
      error: 50000,
      requestId: id,
      token: 'static',
      stack: expect.stringContaining('plants'),
    });
    expect(service.output).not.toMatch("nobody else's business");
    // Both lines of the request have the same names for the same things.
    const [line = {}] = service.log.filter(({ context, requestId }) => context === 'Request' && requestId === id);
    const shared = Object.keys(entry ?? {}).filter(
      (name) => !['time', 'level', 'context', 'message', 'stack'].includes(name),
    );
    expect(shared.sort()).toEqual(['error', 'plantId', 'requestId', 'token']);
    for (const name of shared) expect([name, entry?.[name]]).toEqual([name, line[name]]);
  });

  it('should bear the request id that the client chose', async () => {
    const response = await service.post(PLANT, { 'X-Request-Id': 'chosen:by-the.client_1' });

    expect(response?.headers['x-request-id']).toBe('chosen:by-the.client_1');
    await service.printed(/"requestId":"chosen:by-the\.client_1".*\n/);
  });

  it('should not take a request id that could forge a log', async () => {
    const response = await service.post(PLANT, { 'X-Request-Id': 'a "b' });

    expect(response?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    await service.printed(/"requestId":"[0-9a-f-]{36}".*\n/);
    expect(service.output).not.toMatch('a \\"b');
  });
});
