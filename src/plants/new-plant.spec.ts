import { describe, expect, it } from '@jest/globals';
import { type BadRequestException, ValidationPipe } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { registerDecorator } from 'class-validator';
import fc from 'fast-check';
import { ApiError } from '../errors/api-error.js';
import { JsonNumber, JsonStructure } from '../http/exact-json.js';
import { INT64_MAX, INT64_MIN, parseInt64 } from './int64.js';
import { checkPlant, NewPlant, parseNewPlant, PLANT_FIELDS } from './new-plant.js';

const ROSE = { id: 1n, name: 'Rose' };
const INTEGER = 'it must be an integer from -9223372036854775808 to 9223372036854775807';
/** The same fault in each field. */
const everyField = (fault: (name: string) => string): string =>
  PLANT_FIELDS.map((name) => `${name} ${fault(name)}`).join('. ');
const UNREADABLE = everyField((name) => `cannot be read; ${name === 'id' ? INTEGER : 'it must be a string'}`);

/** The message of 40003, without the words before the faults. */
function faultsOf(parse: () => unknown): string | undefined {
  try {
    parse();
  } catch (failure) {
    if (failure instanceof ApiError && failure.error === 40003)
      return /^This is not a plant: (.*)\.$/s.exec(failure.message)?.[1];
    throw failure;
  }
  return undefined;
}

function refuse(): never {
  throw new Error('nobody may read this');
}

const endless = (): unknown => endless();
const withGetter = (plant: object, name: string, get: () => unknown): object =>
  Object.defineProperty(plant, name, { get, enumerable: true });
const revoked = (target: object): unknown => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
/** Every operation of a Proxy throws. */
const hostile = (target: object): unknown => new Proxy(target, new Proxy({}, { get: () => refuse }));

const cycle: Record<string, unknown> = {};
cycle.self = [cycle];
let deep: unknown = 1;
for (let level = 0; level < 100_000; level++) deep = [deep];

describe(checkPlant.name, () => {
  it.each<[string, given: unknown, faults: string]>([
    ['a cycle', { ...ROSE, name: cycle }, 'name is an object; it must be a string'],
    ['100,000 levels', { id: deep, name: 'Rose' }, `id is an array; ${INTEGER}`],
    ['a function', { ...ROSE, tag: () => 'x' }, 'tag is a function; it must be a string'],
    ['a symbol', { ...ROSE, tag: Symbol('x') }, 'tag is a symbol; it must be a string'],
    ['a date', { ...ROSE, tag: new Date(Number.NaN) }, 'tag is an object; it must be a string'],
    ['a promise', { ...ROSE, tag: Promise.resolve('x') }, 'tag is an object; it must be a string'],
    ['a map of a map', { ...ROSE, tag: new Map([[cycle, new Map()]]) }, 'tag is an object; it must be a string'],
    ['a wrapped text', { ...ROSE, tag: Object('x') as unknown }, 'tag is an object; it must be a string'],
    [
      'a throwing getter',
      withGetter({ ...ROSE, name: 5 }, 'tag', refuse),
      'name is 5; it must be a string. tag cannot be read; it must be a string',
    ],
    ['an endless getter', withGetter({ ...ROSE }, 'name', endless), 'name cannot be read; it must be a string'],
    ['a getter within', { ...ROSE, tag: withGetter({}, 'then', refuse) }, 'tag is an object; it must be a string'],
    ['a hostile Proxy', { ...ROSE, tag: hostile({}) }, 'tag cannot be read; it must be a string'],
    ['a hostile function', { ...ROSE, tag: hostile(refuse) }, 'tag cannot be read; it must be a string'],
    ['a revoked Proxy', { ...ROSE, tag: revoked([]) }, 'tag cannot be read; it must be a string'],
    ['a plant that is one', hostile({}), UNREADABLE],
    ['a plant that is a revoked one', revoked({}), UNREADABLE],
    [
      'a Proxy of a right plant',
      new Proxy(checkPlant(ROSE), { get: () => 5 }),
      everyField((name) =>
        name === 'id'
          ? 'is the number 5, which may have been rounded; it must be a bigint, such as 1n'
          : 'is 5; it must be a string',
      ),
    ],
    [
      'null',
      { id: null, name: null, tag: null },
      `id is null; ${INTEGER}. name is null; it must be a string. tag is null; it must be a string, or leave it out`,
    ],
    [
      'bigints',
      { id: 2n ** 63n, name: 9007199254740993n },
      `id is 9223372036854775808; ${INTEGER}. name is 9007199254740993; it must be a string`,
    ],
    ['nothing', undefined, `id is missing; ${INTEGER}. name is missing; it must be a string`],
  ])('should say all that is wrong with what code may give: %s', (_, given, faults) => {
    expect(faultsOf(() => checkPlant(given))).toBe(faults);
  });

  it('should name numbers of JSON as they were written, and what is nested by its kind', () => {
    const [id, name] = [new JsonNumber('9223372036854775808.0'), new JsonNumber('1e999')];
    expect(faultsOf(() => parseNewPlant({ id, name, tag: new JsonStructure('array') }))).toBe(
      `id is the number 9223372036854775808.0; ${INTEGER}. name is the number 1e999; it must be a string. tag is an array; it must be a string`,
    );
  });

  it('should read each field once', () => {
    let reads = 0;
    const given = withGetter({ ...ROSE }, 'name', () => (reads++ === 0 ? 'Rose' : 5));
    const plant = checkPlant(given);
    expect([reads, Object.entries(plant)]).toEqual([1, Object.entries(ROSE)]);
  });
});

describe(parseInt64.name, () => {
  /** A number as JSON may write it, near the ends of int64 and with zeros that an exponent takes back for the most part. */
  const numbers = fc.record({
    sign: fc.constantFrom('', '-'),
    digits: fc
      .oneof(fc.bigInt({ min: 0n, max: 2n ** 66n }), fc.constantFrom(0n, 5n, 2n ** 63n - 1n, 2n ** 63n))
      .map(String),
    zeros: fc.nat(25),
    fraction: fc.oneof(fc.constantFrom('', '0', '000'), fc.nat(999).map(String)),
    shift: fc.integer({ min: -2, max: 20 }),
  });

  it('should read every int64, however it is written, and nothing else: as arithmetic without rounding says', () => {
    let accepted = 0;
    const property = fc.property(numbers, ({ sign, digits, zeros, fraction, shift }) => {
      const exponent = shift - zeros;
      const source = `${sign}${digits}${'0'.repeat(zeros)}${fraction && `.${fraction}`}e${exponent}`;
      const scaled = BigInt(digits + '0'.repeat(zeros) + fraction) * 10n ** BigInt(Math.max(0, exponent));
      const divisor = 10n ** BigInt(fraction.length + Math.max(0, -exponent));
      const value = (sign === '-' ? -scaled : scaled) / divisor;
      const isInt64 = scaled % divisor === 0n && value >= INT64_MIN && value <= INT64_MAX;
      expect(parseInt64(source)).toBe(isInt64 ? value : undefined);
      if (isInt64) accepted += 1;
    });
    fc.assert(property, { numRuns: 2000 });
    expect(accepted).toBeGreaterThan(200);
    expect(['NaN', '', '0x10', '1e99999999999999999999999999'].map(parseInt64)).toEqual(Array(4).fill(undefined));
  });
});

describe(NewPlant.name, () => {
  it('should have a rule for every property', () => {
    expect(Object.keys(new NewPlant())).toEqual(PLANT_FIELDS);
  });

  it.each<[given: object]>([
    [{ id: 2 ** 53, name: 5, tag: null }],
    [{ id: '1', name: '\0', tag: [{}] }],
    [{ name: { id: 1 }, tag: '\ud800' }],
  ])('should have the same words for the ValidationPipe of a host (%#)', async (given) => {
    const validating = new ValidationPipe().transform(given, { type: 'body', metatype: NewPlant });
    const failure: unknown = await validating.catch((error: unknown) => error);
    const { message } = (failure as BadRequestException).getResponse() as { message: string[] };
    expect(message.length).toBe(3);
    expect(message.join('. ')).toBe(faultsOf(() => checkPlant(given)));
  });

  // The last test of the file: the rules of a class are global, and nothing takes them out again.
  it('should have its faults, and nothing of a good plant, from class-transformer and class-validator', () => {
    const seen: unknown[] = [];
    Transform(({ value }: { value: unknown }) => `${String(value)} transformed`)(NewPlant.prototype, 'tag');
    registerDecorator({
      name: 'isSeen',
      target: NewPlant,
      propertyName: 'tag',
      validator: {
        validate: (value) => seen.push(value) < 0,
        defaultMessage: () => 'tag was seen by a rule of the test',
      },
    });
    expect(checkPlant({ ...ROSE, tag: 'x' })).toEqual({ ...ROSE, tag: 'x' });
    expect(seen).toEqual([]);
    const faults = faultsOf(() => checkPlant({ id: 1n, name: 5, tag: 'x' }));
    expect(faults).toBe('name is 5; it must be a string. tag was seen by a rule of the test');
    expect(seen).toEqual(['x transformed']);
  });
});
