import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AuthSettings } from '../../src/auth/auth.options.js';
import { resolveOptions } from '../../src/client/options.js';
import { DEFAULT_POOL_SIZE, DEFAULT_STORAGE_TIMEOUT } from '../../src/database/database.options.js';
import { MigratorSettings } from '../../src/database/migrations/migrator.options.js';
import { PlantsExtras, PlantsSettings } from '../../src/plants/plants.options.js';
import { describeOptions } from '../support/documents/describe-options.js';
import { TOKEN } from '../support/http/request.js';
import {
  defaultsOf,
  examplesOf,
  type Example,
  findIncompleteOptions,
  findUndocumented,
  makeReference,
  optionsOf,
  type Part,
  ROOT,
} from '../support/documents/api-reference.js';
import { compileExamples, expectedOutput, runExample, writeExamples } from '../support/documents/example-project.js';
import { filesIn } from '../support/host/packed-host.js';
import { startStore, type Store } from '../support/service/store.js';

const CHECKED_IN = join(ROOT, 'docs/api');
/** That of the examples. */
const EXAMPLE_TOKEN = 'a-token-of-20-characters-or-more';

async function readPages(folder: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for (const file of await filesIn(folder)) pages.set(file, await readFile(join(folder, file), 'utf8'));
  return pages;
}

/** The places in a page that a link may name: headings, of which GitHub numbers the repeated ones, and marks in tables. */
function anchorsOf(page: string): string[] {
  const counts = new Map<string, number>();
  const headings = [...page.replace(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return [...headings, ...[...page.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)];
}

describe('The API reference', () => {
  let folder: string;
  let pages: Map<string, string>;
  let modules: Part[];
  let examples: Example[];
  let store: Store;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-api-'));
    store = await startStore({ ACCESS_TOKENS: `${TOKEN},${EXAMPLE_TOKEN}` });
    const reference = await makeReference(folder);
    pages = await readPages(reference.pages);
    modules = reference.modules;
    examples = examplesOf(modules).map(({ name, code }) => ({
      name,
      code: code
        .replace('http://localhost:3000', `http://127.0.0.1:${store.port}`)
        .replace('listen(3000)', 'listen(0)'),
    }));
    await writeExamples(join(folder, 'examples'), examples);
  });
  afterAll(async () => {
    await store.stop();
    await rm(folder, { recursive: true });
  });

  it('should be what npm run api makes of the comments', async () => {
    expect(await readPages(CHECKED_IN)).toEqual(pages);
  });

  it('should have a page for each entry point, and nothing of this machine', () => {
    expect([...pages.keys()].sort()).toEqual([
      'README.md',
      'plant-store.md',
      'plant-store/client.md',
      'plant-store/testing.md',
    ]);
    expect([...pages.values()].filter((page) => page.includes(ROOT))).toEqual([]);
  });

  it('should have only links that lead somewhere', () => {
    const broken: string[] = [];
    for (const [file, page] of pages) {
      for (const [, path = '', anchor = ''] of page.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
        const target = path === '' ? file : join(dirname(file), path);
        if (!anchorsOf(pages.get(target) ?? '').includes(anchor)) broken.push(`${file}: ${path}#${anchor}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('should describe every export, and every method of a class', () => {
    expect(findUndocumented(modules)).toEqual([]);
  });

  it('should describe every option, with its default if it may be left out', () => {
    expect(optionsOf(modules).length).toBeGreaterThan(50);
    expect(findIncompleteOptions(modules)).toEqual([]);
  });

  it.each([
    { name: 'PlantsModuleOptions', Options: PlantsSettings },
    { name: 'PlantsModuleExtras', Options: PlantsExtras },
    { name: 'AuthModuleOptions', Options: AuthSettings },
    { name: 'MigratorOptions', Options: MigratorSettings },
  ])('should have every option of $name, with the default of the code', ({ name, Options }) => {
    const documented = defaultsOf(modules, name);
    const options = describeOptions(Options);
    expect(Object.keys(documented).sort()).toEqual(options.map((option) => option.name).sort());
    for (const option of options.filter((described) => described.default !== ''))
      expect([option.name, documented[option.name]]).toEqual([option.name, option.default]);
  });

  it('should have the defaults of the client, and of the connections to a database', () => {
    const client = defaultsOf(modules, 'PlantStoreClientOptions');
    const resolved = resolveOptions({ baseUrl: 'https://plants.example', token: TOKEN });
    expect(Object.keys(client).sort()).toEqual(Object.keys(resolved).sort());
    const { timeout, retries, retryDelay, maxRetryDelay } = client;
    expect(resolved).toMatchObject(
      Object.fromEntries(
        Object.entries({ timeout, retries, retryDelay, maxRetryDelay }).map(([name, value]) => [name, Number(value)]),
      ),
    );
    for (const name of ['UrlDatabaseOptions', 'PoolDatabaseOptions', 'AdapterDatabaseOptions', 'IssuedTokensOptions'])
      expect(defaultsOf(modules, name)).toMatchObject({ timeout: String(DEFAULT_STORAGE_TIMEOUT) });
    expect(defaultsOf(modules, 'UrlDatabaseOptions')).toMatchObject({ size: String(DEFAULT_POOL_SIZE) });
  });

  it('should have examples that compile in a strict host, and that do what they say', async () => {
    const project = join(folder, 'examples');
    expect(examples.length).toBeGreaterThan(10);
    expect(await compileExamples(project)).toBe('');

    for (const example of examples) {
      const output = await runExample(project, example, { DATABASE_URL: store.database.url });
      for (const line of expectedOutput(example)) expect(output.split('\n')).toContain(line);
    }
  });
});
