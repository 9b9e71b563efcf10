import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createPlant } from '../../examples/client.js';
import { PlantsAuthOptions } from '../../src/auth/auth.options.js';
import { ISSUED_TOKEN, makeToken } from '../../src/auth/token-format.js';
import { MigratorSettings } from '../../src/database/database.options.js';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { PLANT_FIELDS } from '../../src/plants/plant.dto.js';
import { RouteOptions, StoreOptions } from '../../src/plants/plants.options.js';
import { COLUMNS } from '../../src/plants/plants.repository.js';
import { blocksIn, linksIn, PAGES, read, ROOT, withoutCode } from '../support/documents/documents.js';
import { endServer, portOf } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { startStore, type Store } from '../support/service/store.js';

/** The headings of a page as GitHub makes anchors of them. */
const anchorsIn = (page: string): string[] =>
  [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
const allOf = (page: string, pattern: RegExp): (string | undefined)[] =>
  [...read(page).matchAll(pattern)].map(([, found]) => found);

describe('Pages', () => {
  it.each(PAGES)('should have only links that lead somewhere: %s', (page) => {
    for (const [link, path = '', anchor] of linksIn(read(page))) {
      const target = path === '' ? page : join(dirname(page), path);
      // What is above the root is on this machine only.
      expect([link, !target.startsWith('..') && existsSync(ROOT + target)]).toEqual([link, true]);
      if (anchor !== undefined) expect(anchorsIn(target)).toContain(anchor);
    }
  });

  it('should have commands that can be read', () => {
    for (const { code } of blocksIn('sh'))
      expect([code, spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' }).stderr]).toEqual([code, '']);
  });

  it('should name only files in the architecture that exist', () => {
    const paths = read('docs/architecture.md').match(/\b[a-z][\w-]*(?:\/[\w-]+)+(?:\.[\w-]+)*\.ts\b/g) ?? [];
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(`${ROOT}src/${path}`) && !existsSync(ROOT + path))).toEqual([]);
  });

  it('should have only recipes for hosts that a host of the tests runs', () => {
    const withoutLayout = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();
    const folder = 'test/packed/recipes';
    const run = readdirSync(ROOT + folder).map((file) => withoutLayout(read(join(folder, file))));
    const recipes = [...blocksIn('typescript'), ...blocksIn('prisma')];
    expect(recipes.length).toBeGreaterThan(5);
    for (const { code } of recipes) expect(run).toContainEqual(expect.stringContaining(withoutLayout(code)));
  });

  it('should list every error number as the catalogue has it, and explain what "Retryable?" says', () => {
    const catalogue = Object.entries(ERROR_CATALOGUE).map(([error, { meaning, retry }]) => [error, meaning, retry]);
    const page = read('docs/errors.md');
    const rows = [...page.matchAll(/^\| (\d{5}) \| (.+?) +\| (.+?) +\|$/gm)].map(([, ...cells]) => cells);
    expect(rows).toEqual(catalogue);
    expect(allOf('docs/errors.md', /^- \*\*(.+?)\*\*: /gm)).toEqual(
      expect.arrayContaining(catalogue.map(([, , retry]) => retry)),
    );
  });

  it.each([
    ['PlantsModule', Object.assign({}, new StoreOptions(), new RouteOptions())],
    ['PlantsAuthModule', new PlantsAuthOptions()],
    ['Migrator', new MigratorSettings()],
  ])('should list every option of %s, with the default of the code', (name, options) => {
    const [, list = ''] = read('docs/embedding.md').split(new RegExp(`^\`${name}\`[^\n]*:\n\n`, 'm'));
    const listed = [...(list.split('\n\n')[0] ?? '').matchAll(/^- `(\w+)`(?: \(`(\w+)`\))?: \S/gm)];
    const isShown = (value: unknown): boolean => ['string', 'number'].includes(typeof value);
    const expected = Object.entries(options).map(([option, value]) => [option, isShown(value) ? String(value) : '']);
    expect(listed.map(([, option = '', value = '']) => [option, value]).sort()).toEqual(expected.sort());
  });

  it('should have a pattern in SECURITY that finds every token and no other, and an example', () => {
    const [, pattern = '', example = ''] = /```text\n(.*)\n```[^]*```text\n(.*)\n```/.exec(read('SECURITY.md')) ?? [];
    expect([example, ISSUED_TOKEN.test(example)]).toEqual([expect.stringMatching(/^plant_EXAMPLEexample/), true]);
    for (const token of [...Array.from({ length: 100 }, makeToken), example]) {
      for (const found of [`TOKEN=${token}\n`, `"${token}"`, `https://x/?t=${token}&u`])
        expect(found.match(new RegExp(pattern, 'g'))).toEqual([token]);
      for (const other of [token.slice(0, -1), `${token}x`, `x${token}`, token.replace(/.{9}$/, '-$&')])
        expect(other).not.toMatch(new RegExp(pattern));
    }
  });
});

describe('What pages and clients say of a store', () => {
  let store: Store;
  /** In front of the store: it refuses once for each of these numbers, and loses the answer for 0. */
  let proxy: Server;
  let errors: number[];
  let keys: unknown[];

  beforeAll(async () => {
    store = await startStore();
    proxy = createServer((request, response) => {
      const error = errors.shift();
      const key = request.headers['idempotency-key'] as string;
      keys.push(key);
      if (error) return response.writeHead(400, { 'Retry-After': '1' }).end(JSON.stringify({ error, message: 'x' }));
      void text(request).then(async (body) => {
        const answer = await store.post(body, { 'Idempotency-Key': key });
        if (error === 0) request.socket.destroy();
        else response.writeHead(answer.status).end(answer.body);
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterAll(async () => {
    await endServer(proxy);
    await store.stop();
  });

  it.each([[[]], [[40800, 50000]], [[50300, 50301]], [[0, 50400]]])(
    'should be created once by examples/client.ts, with its exact id and one key, whatever comes before: %j',
    async (before) => {
      await store.database.query('TRUNCATE plants');
      [errors, keys] = [[...before], []];
      const client = { baseUrl: `http://127.0.0.1:${portOf(proxy)}`, token: TOKEN };
      const plant = { id: 2n ** 53n + 1n, name: 'Rose', tag: 'flower' };
      expect(await createPlant(client, plant)).toEqual({ name: 'Rose', tag: 'flower' });
      expect([keys.length, new Set(keys).size]).toEqual([before.length + 1, 1]);
      const rows = await store.database.query('SELECT id, name, idempotency_key AS key FROM plants');
      expect(rows).toEqual([{ id: '9007199254740993', name: 'Rose', key: keys[0] }]);
      // Any other refusal is thrown.
      await expect(createPlant(client, plant)).rejects.toMatchObject({ error: 40901 });
      expect(keys).toHaveLength(before.length + 2);
    },
  );

  // A field that is forgotten in one of these places fails here.
  it('should be every column of a plant: in the code, in the table, and copied to another database', async () => {
    expect(Object.keys(COLUMNS)).toEqual([...PLANT_FIELDS, 'idempotencyKey', 'createdBy', 'writeId']);
    const columns = [...Object.values(COLUMNS).map(([column]) => column), 'created_at'].sort();
    const sql = `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'plants'::regclass AND attnum > 0`;
    const found = await store.database.query<{ name: string }>(sql);
    const copied = allOf('docs/install.md', /^\\copy plants \(([^)]*)\) (?:TO|FROM) plants\.copy$/gm);
    const lists = [found.map(({ name }) => name), ...copied.map((list) => String(list).split(', '))];
    expect(lists.map((names) => names.sort())).toEqual(Array(3).fill(columns));
  });

  it('should be the metrics of docs/observability.md, and those that the alerts ask for', async () => {
    const scraped = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
    const own = [...scraped.matchAll(/^# TYPE (plant_store_\w+)/gm)].map(([, name]) => name);
    expect(allOf('docs/observability.md', /^- `(plant_store_\w+)`/gm).sort()).toEqual(own.sort());
    const asked = allOf('deploy/prometheus/alerts.yml', /(plant_store_(?!docs)[a-z_]+?)(?:_bucket|_count)?(?![a-z_])/g);
    expect(own).toEqual(expect.arrayContaining(asked));
  });
});
