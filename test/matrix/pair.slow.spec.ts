import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeStandalone } from '../contract/describe-standalone.js';
import { Load, type StoredPlant } from '../faults/load.js';
import { installationSql } from '../support/documents/installation-sql.js';
import { MIGRATION_NAMES } from '../support/database/migration-names.js';
import { freePort } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { errorOf } from '../support/service/store-instances.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';
import { Pair } from './pair.js';

/** A pair that no other test has; `npm run test:matrix` names others. */
const { MATRIX_NODE = '24', MATRIX_POSTGRES = '15' } = process.env;
const PREPARATION_MS = 240_000;
const CLIENTS = 16;
/** Plants that are created before something is killed, and again after it. */
const CREATED = 300;

const pair = new Pair(MATRIX_NODE, MATRIX_POSTGRES);

(process.platform === 'linux' && process.arch === 'x64' ? describe : describe.skip)(pair.name, () => {
  beforeAll(async () => {
    await pair.prepare();
    process.env.TEST_DATABASE_URL = pair.server.url('postgres', 'postgres');
  }, PREPARATION_MS);
  afterAll(() => pair.remove());

  it('should be what is tried', async () => {
    const [server] = await pair.server.query<{ version: string }>(
      `SELECT current_setting('server_version') AS version`,
      'postgres',
    );
    expect(server?.version).toMatch(new RegExp(`^${MATRIX_POSTGRES}\\.`));
    const node = await PlantStoreProcess.run('--version', {}, { node: pair.node, script: '--no-warnings' });
    expect(node.stdout).toMatch(new RegExp(`^v${MATRIX_NODE}\\.`));
  });

  describeStandalone('contract', pair.target);

  describe('a database with two roles', () => {
    const roles: Record<string, string> = {};
    const url = (role: string): string => pair.server.url(role, 'plants');

    beforeAll(async () => {
      const password = new URL(pair.server.url()).password;
      for (const { database, sql } of await installationSql(password)) await pair.server.query(sql, database);
      Object.assign(roles, { DATABASE_URL: url('plants'), MIGRATION_DATABASE_URL: url('plants_owner') });
    });

    it('should be migrated from many places at once, and then no more', async () => {
      const runs = await Promise.all([1, 2, 3].map(() => pair.run('migrate', roles)));
      expect(runs.map(({ stderr }) => stderr)).toEqual(['', '', '']);
      // Each migration is a transaction of its own: several runs may share them.
      const applied = runs.flatMap(({ stdout }) => / applied (.*)\n$/.exec(stdout)?.[1]?.split(', ') ?? []);
      expect(applied.sort()).toEqual([...MIGRATION_NAMES].sort());
      expect((await pair.run('migrate', roles)).stdout).toMatch(/: up to date\n$/);
    });

    it('should take tokens that are created, rotated and revoked', async () => {
      await using service = await PlantStoreProcess.serve(url('plants'), { ACCESS_TOKENS: '' }, { node: pair.node });
      let id = 0;
      const answer = async (token: string): Promise<number> => {
        const response = await service.post(`{"id":${--id},"name":"Rose"}`, bearer(token));
        return response?.status === 200 ? 200 : errorOf(response);
      };
      const token = async (...args: string[]): Promise<string> => {
        const run = await pair.run(['token', ...args], roles);
        expect(await run.ended).toBe(0);
        return run.stdout.trim();
      };
      const first = await token('create', 'gardener');
      expect(await answer(first)).toBe(200);
      const second = await token('rotate', 'gardener');
      expect(await Promise.all([first, second].map(answer))).toEqual([200, 200]);
      await token('revoke', 'gardener');
      await until(async () => (await Promise.all([first, second].map(answer))).every((number) => number === 40101));
      const listed = JSON.parse(await token('list', '--json')) as { state: string }[];
      expect(listed.map(({ state }) => state)).toEqual(['revoked', 'revoked']);
      await pair.server.query('DELETE FROM plants');
    });

    it.each(['the service', 'PostgreSQL'])('should lose no plant by a kill -9 of %s', async (victim) => {
      const PORT = String(await freePort());
      const serve = () => PlantStoreProcess.serve(url('plants'), { PORT }, { node: pair.node });
      let service = await serve();
      await using load = new Load(Number(PORT), CLIENTS);
      await until(() => load.createdCount >= CREATED);
      if (victim === 'PostgreSQL') {
        await pair.server.kill();
        await pair.server.start();
      } else {
        await service[Symbol.asyncDispose]();
        service = await serve();
      }
      const before = load.createdCount;
      await until(() => load.createdCount >= before + CREATED);
      await load.stop();
      await service[Symbol.asyncDispose]();
      const sessions = `SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'`;
      await until(async () => (await pair.server.query(sessions)).length === 0);
      const rows = await pair.server.query<StoredPlant>(
        'DELETE FROM plants RETURNING id, name, tag, idempotency_key AS key',
      );
      expect(load.compareWith(rows)).toMatchObject({ lost: 0, storedThoughRefused: 0, foreign: 0 });
    });

    it('should have nothing that a start would warn of', async () => {
      await pair.run(['token', 'create', 'check'], roles);
      const { stdout } = await pair.run(['serve', '--check'], roles);
      expect(stdout).toBe('The service can start, with this database.\n');
    });
  });
});
