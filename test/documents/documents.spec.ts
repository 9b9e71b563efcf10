import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { access, readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PlantsAuthOptions } from '../../src/auth/auth.options.js';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { MigratorSettings } from '../../src/database/database.options.js';
import { PlantsRouteOptions, PlantsOptions } from '../../src/plants/plants.options.js';
import { issueToken } from '../support/tokens/issued-token.js';
import { brokenLinks } from '../support/documents/links.js';
import { startStore } from '../support/service/store.js';

const ROOT = new URL('../../', import.meta.url);
const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'deploy/citus/README.md',
  'examples/monorepo/README.md',
  ...(await documentsIn('docs')),
  ...(await documentsIn('docs/adr')),
];
/** What `npm run bench` and `npm run test:faults` write. */
const GENERATED = ['docs/benchmark.md', 'docs/faults.md'];
const texts = new Map<string, string>();
for (const document of DOCUMENTS) texts.set(document, await readFile(new URL(document, ROOT), 'utf8'));

async function documentsIn(folder: string): Promise<string[]> {
  const names = await readdir(new URL(folder, ROOT));
  return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
}

/** The cells of each row of the table under this header. */
function table(document: string, header: string): string[][] {
  const lines = (texts.get(document) ?? '').split('\n');
  const start = lines.findIndex((line) => line.replace(/\s+/g, ' ').startsWith(header));
  const rows = start < 0 ? [] : lines.slice(start + 2, lines.indexOf('', start));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The names of the labels that a metric has on a page, apart from the bounds of a histogram. */
function labelsOf(page: string, metric: string): string {
  const samples = page.matchAll(new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{(.+)\\} `, 'gm'));
  const labels = [...samples].flatMap(([, text = '']) => [...text.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
  return [...new Set(labels)].filter((label) => label !== 'le').join(', ');
}

describe('documents', () => {
  it('should list every error number as the catalogue has it', () => {
    const catalogue = Object.entries(ERROR_CATALOGUE).map(([error, { meaning, retry }]) => [
      error,
      meaning,
      retry,
      expect.stringMatching(/\w/),
    ]);
    expect(table('docs/errors.md', '| error | meaning |')).toEqual(catalogue);
  });

  it('should explain every value of the column "Retryable?"', () => {
    const values = new Set(Object.values(ERROR_CATALOGUE).map(({ retry }) => retry));
    const [, catalogue = ''] = (texts.get('docs/errors.md') ?? '').split(/^## .*$/m);
    const explained = catalogue.matchAll(/\*\*(.+?)\*\*: /g);
    expect([...explained].map(([, value = '']) => value).sort()).toEqual([...values].sort());
  });

  it.each([
    { name: 'PlantsModule', Options: [PlantsOptions, PlantsRouteOptions], others: [] },
    { name: 'PlantsAuthModule', Options: [PlantsAuthOptions], others: [] },
    { name: 'Migrator', Options: [MigratorSettings], others: [] },
  ])('should list every option of $name, with the default of the code', ({ name, Options, others }) => {
    const options = Object.assign({}, ...Options.map((Class) => new Class())) as Record<string, unknown>;
    const listed = table('docs/embedding.md', `| \`${name}\``).map((cells) =>
      cells.map((cell) => cell.replaceAll('`', '')),
    );
    const names = listed.map(([option]) => option);
    expect(Object.keys(options).filter((option) => !names.includes(option))).toEqual(others);
    for (const [option = '', value = ''] of listed) {
      const isShown = ['string', 'number'].includes(typeof options[option]);
      expect([option, option in options, value]).toEqual([option, true, isShown ? String(options[option]) : '']);
    }
  });

  it('should list every metric of the service with its labels, and those of the process that it names', async () => {
    const store = await startStore();
    try {
      const { headers } = await issueToken(store.database, { expires: '1 day' });
      for (const credential of [{}, headers]) await store.post('{"id":1,"name":"Rose"}', credential);
      const page = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
      const typed = [...page.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
      const metrics = typed
        .filter((name) => name.startsWith('plant_store_'))
        .map((name) => [name, labelsOf(page, name)]);
      const items = (texts.get('docs/observability.md') ?? '').matchAll(/^- `(plant_store_\w+)`(?: \(`(\w+)`\))?: /gm);
      const listed = [...items].map(([, name = '', labels = '']) => [name, labels]);
      expect(listed.sort()).toEqual(metrics.sort());
      const named: string[] = texts.get('docs/observability.md')?.match(/\b(?:nodejs|process)_\w+/g) ?? [];
      expect(named).toContain('nodejs_eventloop_lag_p99_seconds');
      expect(named.filter((name) => !typed.includes(name))).toEqual([]);
    } finally {
      await store.stop();
    }
  });

  it('should name only files in the architecture that exist', async () => {
    const paths =
      (texts.get('docs/architecture.md') ?? '').match(/\b[a-z][\w-]*(?:\/[\w-]+)+(?:\.[\w-]+)*\.ts\b/g) ?? [];
    expect(paths.length).toBeGreaterThan(20);
    const missing: string[] = [];
    for (const path of new Set(paths)) await access(new URL(`src/${path}`, ROOT)).catch(() => missing.push(path));
    expect(missing).toEqual([]);
  });

  it('should have a README of at most 180 lines', () => {
    expect(texts.get('README.md')?.split('\n').length).toBeLessThanOrEqual(181);
  });

  it.each(DOCUMENTS)('should have only links in %s that lead somewhere', (document) => {
    expect(brokenLinks(fileURLToPath(ROOT), document)).toEqual([]);
  });

  // The decisions and what programs write are not counted: nobody reads them from the first word to the last.
  const pages = DOCUMENTS.filter((path) => /^docs\/[^/]*$/.test(path) && !GENERATED.includes(path));
  const wordsOf = (path: string): number => texts.get(path)?.trim().split(/\s+/).length ?? 0;

  it.each(pages)('should have at most 2,500 words in %s', (page) => {
    expect(wordsOf(page)).toBeLessThanOrEqual(2500);
  });

  it('should have at most 16,000 words in all pages', () => {
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.map(wordsOf).reduce((sum, words) => sum + words)).toBeLessThanOrEqual(16_000);
  });

  it('should list every page in the index', () => {
    const index = texts.get('docs/README.md') ?? '';
    const missing = pages.filter(
      (page) => page !== 'docs/README.md' && !index.includes(`(${page.slice('docs/'.length)}`),
    );
    expect(missing).toEqual([]);
  });
});
