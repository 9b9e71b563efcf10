import { describe, expect, it } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { JsonNumber, type JsonObject, parseExactJson } from '../http/exact-json.js';
import { assertPlant, INT64_MAX, INT64_MIN, NewPlant, parseInt64, parseNewPlant } from './new-plant.js';

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
  .map((members) => parseExactJson(`{${members.join()}}`) as JsonObject);

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
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(200);
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
      { numRuns: 5000 },
    );
  });
});

describe(NewPlant.name, () => {
  it('should have the same faults for class-validator', () => {
    const plants = [
      { id: 1n, name: 'Rose' },
      { id: 1, name: 5, tag: null },
      {},
      { id: 2n ** 63n, name: '\0', tag: 'x' },
    ];
    for (const plant of plants) {
      const faults = validateSync(plainToInstance(NewPlant, plant)).flatMap(({ constraints = {} }) =>
        Object.values(constraints),
      );
      const refusal = refusalOf(() => {
        assertPlant(plant);
      });
      expect(faults.length > 0 ? `This is not a plant: ${faults.join('. ')}.` : undefined).toBe(refusal);
    }
  });
});

const int64 = fc.bigInt({ min: INT64_MIN, max: INT64_MAX });

describe(parseInt64.name, () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['0.000', 0n],
    ['0e999999999', 0n],
    ['5', 5n],
    ['5.0', 5n],
    ['5e0', 5n],
    ['50e-1', 5n],
    ['0.05E+2', 5n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', INT64_MAX],
    ['-9223372036854775808', INT64_MIN],
    ['92233720368547758070e-1', INT64_MAX],
    ['1e18', 10n ** 18n],
  ])('should read %s', (source, value) => {
    expect(parseInt64(source)).toBe(value);
  });

  it.each([
    '1.5',
    '5e-1',
    '1e-999999999',
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e400',
    '1e999999999',
    '1e99999999999999999999999999',
    'NaN',
    '',
    '0x10',
  ])('should refuse %s', (source) => {
    expect(parseInt64(source)).toBeUndefined();
  });

  it('should read every int64, however it is written', () => {
    fc.assert(
      fc.property(int64, fc.nat(30), fc.nat(30), (value, shift, zeros) => {
        const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(value.toString()) ?? [];
        const padded = digits.padStart(shift + 1, '0');
        const point = padded.length - shift;
        const forms = [
          `${value}`,
          `${value}.${'0'.repeat(zeros + 1)}`,
          `${value}${'0'.repeat(zeros)}e-${zeros}`,
          `${sign}${padded.slice(0, point)}${shift > 0 ? `.${padded.slice(point)}` : ''}e+${shift}`,
        ];
        for (const form of forms) expect(parseInt64(form)).toBe(value);
      }),
    );
  });

  it('should refuse everything outside of int64 and every fraction', () => {
    const outside = fc.oneof(
      fc.bigInt({ min: INT64_MAX + 1n, max: 10n ** 40n }),
      fc.bigInt({ min: -(10n ** 40n), max: INT64_MIN - 1n }),
    );
    fc.assert(fc.property(outside, (value) => parseInt64(value.toString()) === undefined));
    fc.assert(
      fc.property(
        int64,
        fc.integer({ min: 1, max: 9 }),
        (value, digit) => parseInt64(`${value}.0${digit}`) === undefined,
      ),
    );
  });

  it('should take linear time', () => {
    const million = '0'.repeat(1_000_000);
    expect(parseInt64(`1.${million}`)).toBe(1n);
    expect(parseInt64(`1.${million}1`)).toBeUndefined();
    expect(parseInt64(`0.${million}1e1000001`)).toBe(1n);
    expect(parseInt64(`1${million}e-1000000`)).toBe(1n);
  });
});
