import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import pg from 'pg';
import { type HostTransaction, PlantsModule, PlantsService } from 'plant-store';
import * as drizzle from './drizzle.js';
import * as knex from './knex.js';
import * as kysely from './kysely.js';
import type { Library, OpenLibrary } from './library.js';
import * as postgres from './postgres.js';
import * as sequelize from './sequelize.js';

const { DATABASE_URL: url = '' } = process.env;
const ROSE = { id: 1n, name: 'Rose' };
const LIBRARIES: Record<string, OpenLibrary> = {
  'Drizzle on pg': drizzle.openOverPg,
  'Drizzle on postgres.js': drizzle.openOverPostgresJs,
  Knex: knex.open,
  Kysely: kysely.open,
  Sequelize: sequelize.open,
  'postgres.js': postgres.open,
};

describe('a transaction of', () => {
  const pool = new pg.Pool({ connectionString: url });
  let app: INestApplication;
  let plants: PlantsService;

  before(async () => {
    await pool.query('CREATE TABLE orders (plant_id bigint PRIMARY KEY)');
    app = await NestFactory.create(PlantsModule.forRoot({ database: { url }, guards: 'none' }), { logger: false });
    await app.init();
    plants = app.get(PlantsService);
  });
  beforeEach(() => pool.query('TRUNCATE orders, plants'));
  after(async () => {
    await app.close();
    await pool.end();
  });

  const stored = async (): Promise<unknown[]> => (await pool.query('SELECT id, name, tag FROM plants')).rows;

  for (const [name, open] of Object.entries(LIBRARIES)) {
    describe(name, () => {
      let library: Library;

      before(() => {
        // With a key the second create looks the plant up, and what it finds has to be the first one's.
        const create: PlantsService['create'] = async (plant, options) => {
          await plants.create(plant, { ...options, idempotencyKey: 'key' });
          assert.deepEqual(await stored(), []);
          return plants.create(plant, { ...options, idempotencyKey: 'key' });
        };
        library = open(url, { create });
      });
      after(() => library.close());

      it('should have the plant when it has committed', async () => {
        await library.sow();
        assert.deepEqual(await stored(), [{ id: '1', name: 'Rose', tag: null }]);
        assert.equal((await pool.query('SELECT FROM orders')).rowCount, 1);
      });

      it('should not have it when it has rolled back', async () => {
        await pool.query('INSERT INTO orders (plant_id) VALUES (1)');
        await assert.rejects(library.sow());
        assert.deepEqual(await stored(), []);
      });

      it('should be needed: what opens transactions is refused', async () => {
        for (const transaction of library.instances) {
          const refused = plants.create(ROSE, { transaction: transaction as HostTransaction });
          await assert.rejects(refused, { name: 'TypeError', message: /\{ query\(sql, values\) \}/ });
        }
        assert.deepEqual(await stored(), []);
      });
    });
  }
});
