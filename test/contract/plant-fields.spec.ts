import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SchemaObject } from '@nestjs/swagger';
import { readFile } from 'node:fs/promises';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { generateOpenApi } from '../support/documents/openapi.js';

/** Whether each field is required, by name. */
type Fields = Record<string, boolean>;

const FIELDS: Fields = { id: true, name: true, tag: false };

/** What the store adds to a plant. */
const OWN_COLUMNS = ['idempotency_key', 'created_at', 'created_by', 'write_id'];

describe('the fields of NewPlant', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('should be the columns of the Prisma schema', async () => {
    const schema = await readFile(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
    const [, model = ''] = /^model Plant \{\n([^]*?)^\}/m.exec(schema) ?? [];
    const columns = [...model.matchAll(/^ {2}(\w+) +(\w+)(\??)(?:.*@map\("(\w+)"\))?/gm)].map(
      ([, name = '', type, optional, column = name]) => [column, [type, optional === '']] as const,
    );
    const expected = Object.entries(FIELDS).map(([name, isRequired]) => [
      name,
      [name === 'id' ? 'BigInt' : 'String', isRequired],
    ]);
    expect(columns.filter(([column]) => !OWN_COLUMNS.includes(column))).toEqual(expected);
  });

  it('should be the columns of a migrated database', async () => {
    const rows = await database.query<{ name: string; type: string; nullable: string }>(
      `SELECT column_name AS name, data_type AS type, is_nullable AS nullable FROM information_schema.columns
       WHERE table_name = 'plants'`,
    );
    const columns = rows
      .filter(({ name }) => !OWN_COLUMNS.includes(name))
      .map(({ name, type, nullable }) => [name, [type, nullable === 'NO']]);
    const expected = Object.entries(FIELDS).map(([name, isRequired]) => [
      name,
      [name === 'id' ? 'bigint' : 'text', isRequired],
    ]);
    expect(Object.fromEntries(columns)).toEqual(Object.fromEntries(expected));
  });

  it('should be those of the OpenAPI document, in their order', async () => {
    const { NewPlant, Plant } = (await generateOpenApi()).components?.schemas as Record<string, SchemaObject>;
    const { id, ...answered } = FIELDS;
    expect(id).toBe(true);
    expect(described(NewPlant)).toEqual(Object.entries(FIELDS));
    expect(described(Plant)).toEqual(Object.entries(answered));
  });
});

function described({ properties = {}, required = [] }: SchemaObject = {}): [name: string, isRequired: boolean][] {
  return Object.keys(properties).map((name) => [name, required.includes(name)]);
}
