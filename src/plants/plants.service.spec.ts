import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PlantRecord } from './plant-statements.js';
import type { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

const PLANT = { id: 1n, name: 'Rose' };

describe(PlantsService.name, () => {
  const stored: PlantRecord[] = [];
  const create = (plant: PlantRecord): Promise<void> => {
    stored.push(plant);
    return Promise.resolve();
  };
  const service = new PlantsService({ create } as unknown as PlantsRepository);
  beforeEach(() => void stored.splice(0));

  it.each([
    [{ id: 2n ** 63n - 1n, name: '', tag: '🌹' }, 'key', 'import'],
    [{ id: -(2n ** 63n), name: 'Rose' }, 'k'.repeat(255), undefined],
  ])('should store what a request could have sent, and who creates it (%#)', async (plant, idempotencyKey, name) => {
    const answer = await service.create(plant, { idempotencyKey, creator: name === undefined ? name : { name } });
    expect(plant).toMatchObject(answer);
    expect(answer).not.toHaveProperty('id');
    expect(stored).toMatchObject([{ tag: null, ...plant, idempotencyKey, createdBy: name ?? null }]);
  });

  // What is no plant is a property of assertPlant; these are the words for those who write code.
  it.each<[unknown, key: string | undefined, error: number, message: string]>([
    [undefined, undefined, 40003, 'id is missing; it must be an integer from'],
    [
      { ...PLANT, id: 5 },
      'key',
      40003,
      'id is the number 5, which may have been rounded; it must be a bigint, such as 1n',
    ],
    [{ id: 2n ** 64n, name: 7n, tag: [] }, 'key', 40003, 'id is 18446744073709551616; '],
    [PLANT, '', 40004, 'is empty'],
    [PLANT, 'k'.repeat(256), 40004, 'has 256 characters'],
    [PLANT, '\0', 40004, 'contains U+0000'],
    [PLANT, '\udc00', 40004, 'half a character'],
  ])('should refuse what no request could have sent, and store nothing (%#)', async (plant, key, error, message) => {
    const creating = service.create(plant as never, { idempotencyKey: key });
    await expect(creating).rejects.toMatchObject({ error, message: expect.stringContaining(message) as unknown });
    expect(stored).toEqual([]);
  });

  it.each<[unknown, ...message: string[]]>([
    ...['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name): [unknown, string] => [
      { creator: { name } },
      'creator: its name cannot be stored, should be { name } with 1 to 255 characters',
    ]),
    [{ creator: 'import' }, 'creator: its name cannot be stored'],
    [{ creator: null }, 'creator: its name cannot be stored'],
    [{ transaction: undefined }, 'transaction: is undefined, should be a client of pg after BEGIN, '],
    [{ transaction: {} }, 'transaction: is an object, should be '],
  ])('should refuse options that it cannot use (%#)', async (options, message) => {
    const creating = service.create(PLANT, options as never);
    await expect(creating).rejects.toThrow(TypeError);
    await expect(creating).rejects.toThrow(message);
    expect(stored).toEqual([]);
  });
});
