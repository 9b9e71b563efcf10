import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../src/database/generated/client.js';
import { type ApiError, type HostTransaction, Migrator, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host } from '../support/host/host.js';

const SCHEMA = 'Green "house"';
const TABLE = pg.escapeIdentifier(SCHEMA) + '.plants';
const ROSE = { id: 1n, name: 'Rose' };

let database: TestDatabase;
let host: Host;
let plants: PlantsService;
beforeAll(async () => {
  database = await createTestDatabase();
  await new Migrator({ url: database.url, schema: SCHEMA }).migrate();
  host = await Host.on({ url: database.url, schema: SCHEMA });
  plants = host.app.get(PlantsService, { strict: false });
});
beforeEach(() => database.query(`TRUNCATE plants, ${TABLE}`));
afterAll(async () => {
  await host.stop();
  await database.drop();
});

const stored = (columns: string): Promise<unknown[]> => database.query(`SELECT ${columns} FROM ${TABLE} ORDER BY id`);

describe('a plant in a transaction of the host', () => {
  it('should be there when that commits, and change neither its settings nor its fate', async () => {
    await plants.create(ROSE);
    const id = 2n ** 63n - 1n;
    const [name, tag] = [`'"\\;-- {a,b} 🌹`, '{"a":[1]}'];
    const settings = `SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'statement_timeout', 'lock_timeout')`;
    const transaction = new pg.Client(database.url);
    await transaction.connect();
    await transaction.query('BEGIN; SET LOCAL synchronous_commit = off');
    const before = (await transaction.query(settings)).rows;
    const options = { transaction, idempotencyKey: 'key', creator: { name: 'import' } };
    for (let sent = 0; sent < 2; sent++) expect(await plants.create({ id, name, tag }, options)).toEqual({ name, tag });
    await expect(plants.create({ id, name }, options)).rejects.toMatchObject({ error: 40902 });
    await expect(plants.create(ROSE, options)).rejects.toMatchObject({ error: 40901 });
    expect((await transaction.query(settings)).rows).toEqual(before);
    expect(await stored('id::int')).toEqual([{ id: 1 }]);
    await transaction.query('COMMIT');
    await transaction.end();
    const plant = { id: String(id), name, tag, idempotency_key: 'key', created_by: 'import' };
    expect((await stored('id, name, tag, idempotency_key, created_by'))[1]).toEqual(plant);
  });

  it.each<[string, unknown]>([
    // It may stand for a transaction that rolls back.
    ['undefined', undefined],
    ['a promise', Promise.resolve()],
    ['a pool', new pg.Pool()],
    ["Prisma's client itself", new PrismaClient({ adapter: new PrismaPg('postgresql://nobody@127.0.0.1:1/none') })],
  ])('should be refused with what is no transaction: %s', async (what, transaction) => {
    const create = plants.create(ROSE, { transaction: transaction as HostTransaction });
    await expect(create).rejects.toThrow(`transaction: is ${what}, should be a client of pg after BEGIN`);
    expect(await stored('id')).toEqual([]);
  });
});

// What a request may hold is in the contract.
describe('a plant that code gives', () => {
  const failureOf = async (plant: unknown, options = {}): Promise<ApiError> => {
    const failure: unknown = await plants.create(plant as never, options).catch((error: unknown) => error);
    expect(await stored('id')).toEqual([]);
    return failure as ApiError;
  };

  it('should be refused with all that is wrong with it, and not be stored', async () => {
    const { error, message } = await failureOf({ id: 5, name: 7n, tag: null });
    const ofId = 'id is the number 5, which may have been rounded; it must be a bigint, such as 1n';
    const others = 'name is 7; it must be a string. tag is null; it must be a string, or leave it out';
    expect([error, message]).toEqual([40003, `This is not a plant: ${ofId}. ${others}.`]);
  });

  it('should be refused with a key or a creator that cannot be stored', async () => {
    expect(await failureOf(ROSE, { idempotencyKey: '\0' })).toMatchObject({ error: 40004 });
    const named = ['', 'n'.repeat(256), 'a\0', '\ud800', undefined, 5].map((name) => ({ name }));
    const message = expect.stringMatching(/^creator: its name .*, should be \{ name \} with 1 to 255 characters/);
    for (const creator of [...named, 'import', null])
      expect(await failureOf(ROSE, { creator })).toMatchObject({ name: TypeError.name, message });
  });
});
