import { describe, expect, it } from '@jest/globals';
import { ValidationPipe } from '@nestjs/common';
import fc from 'fast-check';
import { parseExactJson, JsonNumber, type JsonObject } from '../http/exact-json.js';
import { Sealed } from '../http/sealed-body.js';
import { plantFaults, isPlant, NewPlantPipe } from './new-plant.js';

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
  .map((members) => parseExactJson(`{${members.join()}}`) as JsonObject)
  // As an application's own parser leaves a large number.
  .chain((body) =>
    fc
      .integer({ min: 1, max: 10 })
      .map((n) => (n < 10 ? body : Object.assign(body, { id: new JsonNumber('9e15', false) }))),
  );

describe(isPlant.name, () => {
  it('should take what the decorators take, and make the same of it', async () => {
    const pipe = new NewPlantPipe();
    const metadata = { type: 'custom' } as const;
    const outcome = async (transforming: Promise<unknown>): Promise<unknown> =>
      transforming.catch((error: unknown) => (error as Error).message);
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const decorated = await outcome(ValidationPipe.prototype.transform.call(pipe, body, metadata));
        const made = await outcome(pipe.transform(new Sealed(body), metadata));
        expect(made).toStrictEqual(decorated);
        if (typeof made !== 'string') taken++;
      }),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(200);
  });

  it('should take of the values of code what the decorators take', () => {
    const values = fc.oneof(
      texts,
      fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
      fc.constantFrom(undefined, null, true, 5, 5.5, NaN, [], {}, Symbol('id'), new JsonNumber('5')),
    );
    const plants = fc.record({ id: values, name: values, tag: values }, { requiredKeys: [] });
    fc.assert(
      fc.property(plants, (plant) => {
        expect(isPlant(plant)).toBe(plantFaults(plant).length === 0);
      }),
      { numRuns: 5000 },
    );
  });
});
