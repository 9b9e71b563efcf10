import { beforeEach, describe, expect, it } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { NewPlant } from './new-plant.js';
import { PlantsService } from './plants.service.js';

const PLANT = { id: 1n, name: 'Rose' };

describe(PlantsService.name, () => {
  const nothing = {} as never;
  const service = new PlantsService(nothing, nothing, nothing, nothing, nothing);
  const stored: unknown[] = [];
  // It would open one at the start, on a database.
  Reflect.set(service, 'writer', { create: (plant: unknown) => Promise.resolve(void stored.push(plant)) });
  beforeEach(() => void stored.splice(0));

  it.each<[unknown, key: string | undefined, error: number, message: string]>([
    [undefined, undefined, 40003, 'id is missing; it must be an integer from'],
    [{ ...PLANT, id: 5 }, 'key', 40003, 'id is the number 5, which may have been rounded; it must be a bigint'],
    [{ id: 2n ** 63n, name: 7n, tag: [] }, 'key', 40003, 'id is 9223372036854775808; '],
    [PLANT, '\0', 40004, 'contains U+0000'],
    [PLANT, '\udc00', 40004, 'half a character'],
  ])('should refuse what no request could have sent, and store nothing (%#)', async (plant, key, error, message) => {
    const creating = service.create(plant as never, { idempotencyKey: key });
    await expect(creating).rejects.toMatchObject({ error, message: expect.stringContaining(message) as unknown });
    // The same faults for class-validator, with which an application may check a plant.
    const errors = validateSync(plainToInstance(NewPlant, plant ?? {}));
    const faults = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
    if (error === 40003) await expect(creating).rejects.toThrow(`This is not a plant: ${faults.join('. ')}.`);
    else expect(faults).toEqual([]);
    expect(stored).toEqual([]);
  });

  it('should refuse a creator whose name cannot be stored', async () => {
    const named = ['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name) => ({ name }));
    for (const creator of [...named, 'import', null]) {
      const creating = service.create(PLANT, { creator } as never);
      const message = expect.stringMatching(/^creator: its name .*, should be \{ name \} with 1 to 255 characters/);
      await expect(creating).rejects.toMatchObject({ name: TypeError.name, message });
    }
    expect(stored).toEqual([]);
  });
});
