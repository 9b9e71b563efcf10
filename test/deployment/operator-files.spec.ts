import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { alertRules } from '../support/documents/alert-rules.js';
import type { RequestHeaders } from '../support/http/request.js';
import { errorOf } from '../support/service/store-instances.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const observability = read('docs/observability.md');
const operations = read('docs/operations.md');

/** What Prometheus itself knows of each target. */
const TARGET_METRICS = new Set(['up']);
const TARGET_LABELS = new Set(['job', 'instance']);
const OPERATORS = new Set(['and', 'or', 'unless']);

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { query: string | { query: string } }[] };
}

/** Every expression of PromQL that is shipped, with the place that it is in. */
function shippedExpressions(): [string, string][] {
  const { panels, templating } = JSON.parse(read('deploy/grafana/plant-store.json')) as Dashboard;
  const variables = templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query]));
  return [
    ...alertRules.map(({ alert, expr }): [string, string] => [alert, expr]),
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }): [string, string] => [title, expr])),
    ...variables.map((query): [string, string] => [
      'a variable',
      query.replace(/^label_values\((.*), (\w+)\)$/, 'max by ($2) ($1)'),
    ]),
  ];
}

interface Selector {
  metric: string;
  /** Name, operator and value of each matcher. */
  matchers: [string, string, string][];
}

function selectorsOf(expr: string): Selector[] {
  const bare = expr.replace(/\b(?:by|without|on|ignoring) *\([^)]*\)/g, '').replace(/\[[^\]]*\]/g, '');
  return [...bare.matchAll(/\b([a-zA-Z_]\w*)\b(?! *\()(?:\{([^}]*)\})?/g)]
    .filter(([, name = '']) => !OPERATORS.has(name))
    .map(([, metric = '', braces = '']) => ({
      metric,
      matchers: [...braces.matchAll(/(\w+) *(=~|!~|!=|=) *"([^"]*)"/g)].map(
        ([, name = '', operator = '', value = '']) => [name, operator, value],
      ),
    }));
}

/** The labels that an expression groups by. */
function groupingsOf(expr: string): string[] {
  const lists = [...expr.matchAll(/\b(?:by|without|on|ignoring) *\(([^)]*)\)/g)];
  return lists.flatMap(([, labels = '']) => labels.split(',').map((label) => label.trim()));
}

/** The names of the samples of a page of metrics, and the values of each label. */
class Page {
  private readonly samples = new Map<string, Map<string, Set<string>>>();

  constructor(text: string) {
    for (const [, name = '', braces = ''] of text.matchAll(/^([a-z0-9_]+)(?:\{(.*)\})? /gm)) {
      const labels = this.samples.get(name) ?? new Map<string, Set<string>>();
      this.samples.set(name, labels);
      for (const [, label = '', value = ''] of braces.matchAll(/(\w+)="([^"]*)"/g)) {
        labels.set(label, (labels.get(label) ?? new Set()).add(value));
      }
    }
  }

  has(metric: string): boolean {
    return TARGET_METRICS.has(metric) || this.samples.has(metric);
  }

  /** The labels of all metrics together. */
  get labels(): Set<string> {
    return new Set([...this.samples.values()].flatMap((labels) => [...labels.keys()]));
  }

  valuesOf(metric: string, label: string): string[] {
    return [...(this.samples.get(metric)?.get(label) ?? [])];
  }
}

/** What a matcher asks for that this page does not have, one by one. */
function missingValues(page: Page, metric: string, [label, operator, value]: Selector['matchers'][number]): string[] {
  if (TARGET_LABELS.has(label)) return [];
  const values = page.valuesOf(metric, label);
  // The catalogue has numbers that are hard to bring about here.
  if (label === 'error' && values.length > 0) values.push(...Object.keys(ERROR_CATALOGUE));
  const wanted = operator.endsWith('~') ? value.split('|') : [value];
  return wanted.filter((one) => !values.some((found) => new RegExp(`^(?:${one})$`).test(found)));
}

describe('what is shipped for operators', () => {
  const expressions = shippedExpressions();
  let store: Store;
  /** Before the first request, and after requests of every kind. */
  let first: Page;
  let last: Page;

  async function scrape(): Promise<Page> {
    const page = await fetch(`http://127.0.0.1:${store.managementPort}/metrics`);
    return new Page(await page.text());
  }

  beforeAll(async () => {
    store = await startStore();
    first = await scrape();
    await store.post('{"id":1,"name":"Rose"}');
    await store.post('{"id":2}');
    const soon = await issueToken(store.database, { name: 'soon', expires: '1 day' });
    await store.post('{"id":3,"name":"Rose"}', soon.headers);
    const ended = await issueToken(store.database, { expires: '-1 hour' });
    const revoked = await issueToken(store.database);
    await store.database.query('UPDATE access_tokens SET revoked_at = now() WHERE id = $1', [revoked.id]);
    for (const token of ['unknown', ended.token, revoked.token]) {
      expect(errorOf(await store.post('{}', { Authorization: `Bearer ${token}` }))).toBe(40101);
    }
    expect(errorOf(await store.post('{}', { Authorization: 'Bearer' }))).toBe(40102);
    await store.database.query('ALTER TABLE plants RENAME TO lost_plants');
    expect(errorOf(await store.post('{"id":3,"name":"Rose"}'))).toBe(50000);
    await store.database.query('ALTER TABLE lost_plants RENAME TO plants');
    last = await scrape();
  });
  afterAll(() => store.stop());

  it('should use metrics in each alert and each panel', () => {
    expect(expressions.length).toBeGreaterThan(alertRules.length + 15);
    expect(expressions.filter(([, expr]) => selectorsOf(expr).length === 0)).toEqual([]);
  });

  it('should use only metrics that the store has', () => {
    const used = expressions.flatMap(([, expr]) => selectorsOf(expr).map(({ metric }) => metric));
    expect([...new Set(used)].filter((metric) => !last.has(metric)).sort()).toEqual([]);
  });

  it('should use only labels and values that they have', () => {
    const missing = expressions.flatMap(([place, expr]) => [
      ...groupingsOf(expr)
        .filter((label) => !TARGET_LABELS.has(label) && !last.labels.has(label))
        .map((label) => `${place}: ${label}`),
      ...selectorsOf(expr).flatMap(({ metric, matchers }) =>
        matchers.flatMap((matcher) =>
          missingValues(last, metric, matcher).map((value) => `${place}: ${metric} ${matcher[0]} ${value}`),
        ),
      ),
    ]);
    expect(missing).toEqual([]);
  });

  // increase() does not see the first count of a series that was not there before.
  it('should have each series that an alert waits for from the start', () => {
    const waited = alertRules.flatMap(({ alert, expr }) =>
      [...expr.matchAll(/increase\(([^[]*)/g)].map(([, selector = '']): [string, string] => [alert, selector]),
    );
    expect(waited.length).toBeGreaterThan(0);
    const missing = waited.filter(([, selector]) =>
      selectorsOf(selector).some(
        ({ metric, matchers }) =>
          !first.has(metric) ||
          matchers.some(([label, , value]) =>
            value.split('|').some((one) => !first.valuesOf(metric, label).includes(one)),
          ),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('should name in each alert its section of the page, and have no other section', () => {
    for (const { alert, summary, description, runbookUrl } of alertRules) {
      // The base is set in one place, by an external label.
      expect(runbookUrl).toBe(
        `{{ or $externalLabels.plant_store_docs "docs" }}/observability.md#${alert.toLowerCase()}`,
      );
      for (const text of [summary, description]) expect(text).toMatch(/^\S.*\.$/);
    }
    const sections = [...observability.matchAll(/^### (\w+)\n\n\S/gm)].map(([, name]) => name);
    expect(sections.sort()).toEqual(alertRules.map(({ alert }) => alert).sort());
    for (const error of Object.keys(ERROR_CATALOGUE).filter((one) => Number(one) >= 50000))
      expect(observability).toContain(`**${error}**`);
  });

  describe('the SQL that corrects and deletes a plant', () => {
    const ID = '9007199254740993';
    const key = { 'Idempotency-Key': 'order-17' };
    const create = (name: string, headers: RequestHeaders = key) =>
      store.post(`{"id":${ID},"name":"${name}","tag":"shrub"}`, headers);

    /** Its first statement that begins with these words, as the owner of the tables runs it. */
    async function run(words: string): Promise<Record<string, unknown>[]> {
      const [statement] = new RegExp(`^${words}[^;]*;`, 'm').exec(operations) ?? [];
      expect(statement).toContain(ID);
      return store.database.query(statement ?? '');
    }

    it('should correct a plant; a repetition of the old request then gets 40902', async () => {
      expect(await create('Rsoe')).toMatchObject({ status: 200 });
      expect(await run('SELECT id')).toMatchObject([{ id: ID, name: 'Rsoe', idempotency_key: 'order-17' }]);
      expect(await run('UPDATE plants')).toMatchObject([{ id: ID, name: 'Rose' }]);
      expect(errorOf(await create('Rsoe'))).toBe(40902);
      expect(errorOf(await create('Rose', {}))).toBe(40901);
      expect(await create('Rose')).toMatchObject({ status: 200, body: '{"name":"Rose","tag":"shrub"}' });
    });

    it('should delete a plant; a late repetition then creates it again', async () => {
      expect(await run('DELETE FROM plants')).toMatchObject([{ id: ID }]);
      expect(await run('SELECT id')).toEqual([]);
      expect(await create('Rsoe')).toMatchObject({ status: 200 });
      expect(await run('SELECT id')).toMatchObject([{ id: ID, name: 'Rsoe' }]);
    });
  });
});
