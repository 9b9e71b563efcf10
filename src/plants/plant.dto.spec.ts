import { beforeEach, describe, expect, it } from '@jest/globals';
import { type BadRequestException, ValidationPipe } from '@nestjs/common';
import { type ApiError } from '../errors/api-error.js';
import { NewPlant, PLANT_FIELDS } from './plant.dto.js';
import { PlantsService } from './plants.service.js';

const ROSE = { id: 1n, name: 'Rose' };
const INTEGER = 'it must be an integer from -9223372036854775808 to 9223372036854775807';
const UNREADABLE = PLANT_FIELDS.map(
  (name) => `${name} cannot be read; ${name === 'id' ? INTEGER : 'it must be a string'}`,
).join('. ');

function refuse(): never {
  throw new Error('nobody may read this');
}

const endless = (): unknown => endless();
const withGetter = (plant: object, name: string, get: () => unknown): object =>
  Object.defineProperty({ ...plant }, name, { get, enumerable: true });
const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
};
/** Every operation of it throws. */
const hostile = (): unknown => new Proxy({}, new Proxy({}, { get: () => refuse }));

const cycle: Record<string, unknown> = {};
cycle.self = [cycle];
let deep: unknown = 1;
for (let level = 0; level < 100_000; level++) deep = [deep];

// What a request may hold is in the contract.
describe('A plant that code gives', () => {
  const nothing = {} as never;
  const service = new PlantsService(nothing, nothing, nothing, nothing, nothing);
  const stored: object[] = [];
  // It would open one at the start, on a database.
  Reflect.set(service, 'writer', { create: (plant: object) => Promise.resolve(void stored.push(plant)) });
  beforeEach(() => void stored.splice(0));

  const messageIfThrows = async (plant: unknown, options = {}): Promise<ApiError> => {
    const failure: unknown = await service.create(plant as never, options).catch((error: unknown) => error);
    expect(stored).toEqual([]);
    return failure as ApiError;
  };

  it.each<[what: string, given: unknown, faults: string]>([
    ['a cycle', { ...ROSE, name: cycle }, 'name is an object; it must be a string'],
    ['100,000 levels', { id: deep, name: 'Rose' }, `id is an array; ${INTEGER}`],
    ['a function', { ...ROSE, tag: () => 'x' }, 'tag is a function; it must be a string'],
    ['a throwing getter', withGetter(ROSE, 'tag', refuse), 'tag cannot be read; it must be a string'],
    ['an endless getter', withGetter(ROSE, 'name', endless), 'name cannot be read; it must be a string'],
    ['a hostile Proxy', { ...ROSE, tag: hostile() }, 'tag cannot be read; it must be a string'],
    ['a revoked Proxy', { ...ROSE, tag: revoked() }, 'tag cannot be read; it must be a string'],
    ['a Proxy in its place', hostile(), UNREADABLE],
    ['a null', { ...ROSE, tag: null }, 'tag is null; it must be a string, or leave it out'],
    [
      'a number',
      { ...ROSE, id: 5 },
      'id is the number 5, which may have been rounded; it must be a bigint, such as 1n',
    ],
    [
      'a large id',
      { id: 2n ** 63n, name: 7n },
      `id is 9223372036854775808; ${INTEGER}. name is 7; it must be a string`,
    ],
    ['nothing', undefined, `id is missing; ${INTEGER}. name is missing; it must be a string`],
  ])('should be refused with all that is wrong with it, and not be stored: %s', async (_, given, faults) => {
    const { error, message } = await messageIfThrows(given);
    expect([error, message]).toEqual([40003, `This is not a plant: ${faults}.`]);
  });

  it('should be read once', async () => {
    let reads = 0;
    const given = withGetter(ROSE, 'name', () => (reads++ === 0 ? 'Rose' : 5));
    expect(await service.create(given as never)).toEqual({ name: 'Rose' });
    expect([reads, stored]).toEqual([1, [expect.objectContaining(ROSE)]]);
  });

  it.each([
    ['U+0000', '\0', 'contains U+0000'],
    ['half a character', '\udc00', 'half a character'],
  ])('should be refused with a key that cannot be stored: %s', async (_, idempotencyKey, message) => {
    const failure = await messageIfThrows(ROSE, { idempotencyKey });
    expect([failure.error, failure.message]).toEqual([40004, expect.stringContaining(message)]);
  });

  it('should be refused with a creator whose name cannot be stored', async () => {
    const named = ['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name) => ({ name }));
    const message = expect.stringMatching(/^creator: its name .*, should be \{ name \} with 1 to 255 characters/);
    for (const creator of [...named, 'import', null])
      expect(await messageIfThrows(ROSE, { creator })).toMatchObject({ name: TypeError.name, message });
  });

  it('should have a rule for every field, and the same faults for the ValidationPipe of a host', async () => {
    expect(Object.keys(new NewPlant())).toEqual(PLANT_FIELDS);
    const given = { id: 2 ** 53, name: '\ud800\0', tag: [{}] };
    const validating = new ValidationPipe().transform(given, { type: 'body', metatype: NewPlant });
    const failure: unknown = await validating.catch((error: unknown) => error);
    const { message } = (failure as BadRequestException).getResponse() as { message: string[] };
    expect(message.length).toBe(3);
    expect(await messageIfThrows(given)).toMatchObject({ message: `This is not a plant: ${message.join('. ')}.` });
  });
});
