import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ContractTarget } from './contract-target.js';
import { expectCreated } from './expect-created.js';
import { expectNothingWritten } from './expect-nothing-written.js';
import { removePlants, storedPlants } from './stored-plants.js';

const FIELDS = ['id', 'name', 'tag'];

/** Bodies, and what the message says of each field that is missing or wrong. */
const FAULTY: [body: string, faults: Record<string, string>][] = [
  ['{}', { id: 'missing', name: 'missing' }],
  ['{"id": 1}', { name: 'missing' }],
  ['{"name": "Rose"}', { id: 'missing' }],
  ['{"tag": "flower"}', { id: 'missing', name: 'missing' }],
  ['{"tag": null}', { id: 'missing', name: 'missing', tag: 'null' }],
  ['{"id": "x", "name": 1, "tag": []}', { id: 'string', name: 'number 1', tag: 'array' }],
  ['{"id": null, "name": null, "tag": null}', { id: 'null', name: 'null', tag: 'null' }],
  ['{"id": 1.5, "name": "\\u0000"}', { id: 'number 1\\.5', name: 'U\\+0000' }],
  ['{"ID": 1, "Name": "Rose"}', { id: 'missing', name: 'missing' }],
  ['{" id": 1, "name ": "Rose"}', { id: 'missing', name: 'missing' }],
  ['{"plant": {"id": 1, "name": "Rose"}}', { id: 'missing', name: 'missing' }],
  ['{"__proto__": {"id": 1, "name": "Rose"}}', { id: 'missing', name: 'missing' }],
  ['{"constructor": {"name": "Rose"}, "id": 1}', { name: 'missing' }],
  ['{"id": 1, "toString": "Rose"}', { name: 'missing' }],
];

const DEPTH = 50_000;
const deepArray = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
const deepObject = '{"a":'.repeat(DEPTH) + '1' + '}'.repeat(DEPTH);

const IGNORED: [what: string, members: string][] = [
  ['scalars', '"size": 1e400, "alive": true, "notes": null, "colour": "red"'],
  ['text that cannot be stored', '"notes": "\\u0000\\ud800"'],
  ['numbers out of every range', '"size": 1e999999999, "weight": -0.1e-999999999'],
  ['containers', '"pots": [{}, [], {"id": 2}], "owner": {"id": 3, "name": "Eve", "tag": "x"}'],
  ['keys in other letters', '"Id": 2, "NAME": "Fern", "Tag": "x", "tag ": "x"'],
  ['names of columns', '"idempotencyKey": "x", "idempotency_key": "x", "created_at": 1, "createdAt": 1'],
  ['an empty key', '"": "x"'],
  ['__proto__', '"__proto__": {"id": 2, "name": "Fern", "tag": "x"}'],
  ['__proto__ that is null', '"__proto__": null'],
  ['__proto__ as escapes', '"\\u005f_proto__": {"tag": "x"}'],
  ['constructor', '"constructor": {"prototype": {"tag": "x"}}'],
  ['toString', '"toString": null'],
  ['hasOwnProperty', '"hasOwnProperty": 1'],
  ['then', '"then": "x"'],
  ['a token', '"access_token": ["x"]'],
  ['50,000 arrays in each other', `"deep": ${deepArray}`],
  ['50,000 objects in each other', `"deep": ${deepObject}`],
  ['10,000 fields', Array.from({ length: 10_000 }, (_, i) => `"field${i}": ${i}`).join()],
];

/** @param isRead whether these members reach the store at all */
export function describeFields(target: () => ContractTarget, isRead: (members: string) => boolean = () => true): void {
  beforeEach(() => removePlants(target()));

  describe('missing and wrong fields', () => {
    it.each(FAULTY.filter(([body]) => isRead(body)))('should all be named in one message: %s', async (body, faults) => {
      const message = await expectNothingWritten(target(), await target().post(body), 40003);
      for (const [field, fault] of Object.entries(faults)) {
        expect(message).toMatch(new RegExp(`\\b${field} (?:is|contains) (?:\\S+ )?${fault}\\b`));
      }
      for (const field of FIELDS.filter((name) => !(name in faults))) {
        expect(message).not.toMatch(new RegExp(`\\b${field}\\b`));
      }
    });
  });

  describe('fields that a new plant does not have', () => {
    const ignored = IGNORED.filter(([, members]) => isRead(members));

    it.each(ignored)('should be ignored before the others: %s', async (_, members) => {
      expectCreated(await target().post(`{${members}, "id": 1, "name": "Rose"}`), { name: 'Rose' });
      expect(await storedPlants(target())).toEqual([{ id: '1', name: 'Rose', tag: null, idempotency_key: null }]);
    });

    it.each(ignored)('should be ignored behind the others: %s', async (_, members) => {
      const response = await target().post(`{"id": 1, "name": "Rose", "tag": "flower", ${members}}`);
      expectCreated(response, { name: 'Rose', tag: 'flower' });
      expect(await storedPlants(target())).toEqual([{ id: '1', name: 'Rose', tag: 'flower', idempotency_key: null }]);
    });
  });
}
