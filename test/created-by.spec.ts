import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PlantStoreProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

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

  it('should stand with each plant, however many are created in one statement', async () => {
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
});
