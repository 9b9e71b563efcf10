import { describe, expect, it } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { JsonNumber, parseExactJson } from '../http/exact-json.js';
import { assertPlant, INT64_MAX, INT64_MIN, NewPlant, parseInt64, parseNewPlant, PLANT_FIELDS } from './new-plant.js';

const EDGES = ['0', '-0', '5.0', '50e-1', '5.5', '1e999999999', String(2n ** 63n), String(2n ** 63n - 1n)];
const texts = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme' }) },
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'Rose', '\0', 'Ro\0se', '\ud800', 'x\udc00', '🌹'),
);
const rest = fc.constantFrom('null', 'true', '{}', '[]', '{"id": 1}');
const ids = fc.oneof(
  fc.constantFrom(...EDGES),
  { weight: 3, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.string().map((text) => JSON.stringify(text)),
  rest,
);
const names = fc.oneof({ weight: 12, arbitrary: texts.map((text) => JSON.stringify(text)) }, ids);

/** Bodies of requests, most of them plants or nearly so. */
const bodies = fc
  .record({ id: ids, name: names, tag: names, other: rest }, { requiredKeys: [] })
  .map((fields) => Object.entries(fields).map(([key, source]) => `"${key}": ${source}`))
  .map((members) => parseExactJson(`{${members.join()}}`, PLANT_FIELDS) ?? {});

function isText(value: unknown): boolean {
  // Half a character does not survive the way to UTF-8 and back.
  return typeof value === 'string' && !value.includes('\0') && Buffer.from(value).toString() === value;
}

/** The fields that are wrong, by the words of the contract. */
function wrongFields({ id, name, tag }: Record<string, unknown>): string[] {
  const right = {
    id: typeof id === 'bigint' && id >= INT64_MIN && id <= INT64_MAX,
    name: isText(name),
    tag: tag === undefined || isText(tag),
  };
  return Object.entries(right).flatMap(([field, isRight]) => (isRight ? [] : [field]));
}

function refusalOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

/** Names each of them with its fault, in this order, and no other. */
function refusalOfFields(fields: string[]): unknown {
  const faults = fields.map((field) => `${field} (?:is|contains) [^]*`);
  return fields.length === 0 ? undefined : expect.stringMatching(`^This is not a plant: ${faults.join('\\. ')}\\.$`);
}

describe(parseNewPlant.name, () => {
  it('should take every plant as it was sent, and name every wrong field of all else', () => {
    let taken = 0;
    fc.assert(
      fc.property(bodies, (body) => {
        const { id: sent, name, tag } = body;
        const id = sent instanceof JsonNumber ? parseInt64(sent.source) : undefined;
        const wrong = wrongFields({ id, name, tag });
        if (wrong.length > 0) {
          expect(refusalOf(() => parseNewPlant(body))).toEqual(refusalOfFields(wrong));
        } else {
          expect(parseNewPlant(body)).toStrictEqual({ id, name, ...('tag' in body && { tag }) });
          taken++;
        }
      }),
      { numRuns: 1000 },
    );
    expect(taken).toBeGreaterThan(100);
  });
});

describe(assertPlant.name, () => {
  it('should take of the values of code what a request could have sent', () => {
    const values = fc.oneof(
      texts,
      fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
      fc.constantFrom(undefined, null, true, 5, 5.5, NaN, [], {}, Symbol('id'), new JsonNumber('5')),
    );
    const plants = fc.record({ id: values, name: values, tag: values }, { requiredKeys: [] });
    fc.assert(
      fc.property(plants, (plant) => {
        const refusal = refusalOf(() => {
          assertPlant(plant);
        });
        expect(refusal).toEqual(refusalOfFields(wrongFields(plant)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe(NewPlant.name, () => {
  it.each([{ id: 1n, name: 'Rose' }, { id: 1, name: 5, tag: null }, {}, { id: 2n ** 63n, name: '\0', tag: 'x' }])(
    'should have the same faults for class-validator (%#)',
    (plant) => {
      const errors = validateSync(plainToInstance(NewPlant, plant));
      const faults = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
      const refusal = refusalOf(() => {
        assertPlant(plant);
      });
      expect(faults.length > 0 ? `This is not a plant: ${faults.join('. ')}.` : undefined).toBe(refusal);
    },
  );
});

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

describe(parseInt64.name, () => {
  it('should read every int64, however it is written, and nothing else: as arithmetic without rounding says', () => {
    let taken = 0;
    const property = fc.property(numbers, ({ sign, digits, zeros, fraction, shift }) => {
      const exponent = shift - zeros;
      const source = `${sign}${digits}${'0'.repeat(zeros)}${fraction && `.${fraction}`}e${exponent}`;
      const scaled = BigInt(digits + '0'.repeat(zeros) + fraction) * 10n ** BigInt(Math.max(0, exponent));
      const divisor = 10n ** BigInt(fraction.length + Math.max(0, -exponent));
      const value = (sign === '-' ? -scaled : scaled) / divisor;
      const isInt64 = scaled % divisor === 0n && value >= INT64_MIN && value <= INT64_MAX;
      expect(parseInt64(source)).toBe(isInt64 ? value : undefined);
      if (isInt64) taken += 1;
    });
    fc.assert(property, { numRuns: 2000 });
    expect(taken).toBeGreaterThan(200);
  });

  it.each(['NaN', '', '0x10', '1e99999999999999999999999999'])('should refuse "%s"', (source) => {
    expect(parseInt64(source)).toBeUndefined();
  });
});
