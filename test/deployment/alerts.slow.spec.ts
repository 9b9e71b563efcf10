import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { describeWith } from '../support/jest/describe-with.js';
import { startStore } from '../support/service/store.js';

const ALERTS_FILE = resolve('deploy/prometheus/alerts.yml');
const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find(existsSync);
const MISSING = 'there is no promtool in the usual places. Install it (on Debian: apt-get install prometheus).';

interface Rule {
  alert: string;
  expr: string;
  annotations: { runbook_url: string };
}
const RULES = (parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: [{ rules: Rule[] }] }).groups[0].rules;

/** What is scraped in 20 minutes, once in 30 seconds, in the notation of promtool. */
type Series = Readonly<Record<string, string>>;

const always = (value: number): string => `${value}x40`;
/** Grows by as much from one scrape to the next. */
const growing = (step: number): string => `0+${step}x40`;
/** Has another value in the last scrapes. */
const lately = (value: number, scrapes: number, before = 0): string =>
  `${before}x${40 - scrapes} ${value}x${scrapes - 1}`;

const named = (name: string, labels = ''): string => `${name}{job="plant-store",instance="a:9464"${labels}}`;
const requests = (error: number): string => named('plant_store_requests_total', `,error="${error}"`);
/** Of a hundred successes at each scrape, so many take so long or less. */
const successes = (upTo100Ms: number, upTo1s: number): Series =>
  Object.fromEntries(
    Object.entries({ 0.1: upTo100Ms, 1: upTo1s, 5: 100, '+Inf': 100 }).map(([le, count]) => [
      named('plant_store_request_duration_seconds_bucket', `,outcome="success",le="${le}"`),
      growing(count),
    ]),
  );
const ofOther = (series: Series): Series =>
  Object.fromEntries(Object.entries(series).map(([name, values]) => [name.replace('a:9464', 'b:9464'), values]));

const UP = named('up');
const READY = named('plant_store_ready');
const WRONG_TOKENS = named('plant_store_wrong_tokens_total');
const TOKEN_EXPIRES = named('plant_store_token_expires_seconds');
const WAITING = named('plant_store_creates_waiting');

/** A store that creates a few plants a second, and refuses some requests. */
const HEALTHY: Series = {
  [UP]: always(1),
  [READY]: always(1),
  [requests(0)]: growing(100),
  [requests(40003)]: growing(5),
  ...Object.fromEntries([50000, 50300, 50301, 50400].map((error) => [requests(error), always(0)])),
  [WRONG_TOKENS]: always(0),
  [TOKEN_EXPIRES]: always(90 * 86_400),
  [WAITING]: always(20),
  ...successes(100, 100),
};

/** Each alert, with what is scraped when it must fire, and when it must not. All else is healthy. */
const CASES: Record<string, { fires: Series[]; silent: Series[] }> = {
  PlantStoreDown: {
    fires: [{ [UP]: always(0) }, { [UP]: '_x40', ...ofOther({ [UP]: '_x40' }) }],
    // One scrape that failed.
    silent: [{ [UP]: lately(0, 1, 1) }],
  },
  // A rolling restart.
  PlantStoreNotReady: { fires: [{ [READY]: always(0) }], silent: [{ [READY]: lately(0, 2, 1) }] },
  PlantStoreRequestsFail: {
    fires: [{ [requests(50300)]: growing(2) }, { [requests(0)]: always(7), [requests(50300)]: growing(1) }],
    silent: [
      { [requests(0)]: growing(1000), [requests(50300)]: growing(1) },
      { [requests(50300)]: lately(90, 3) },
      // Nobody calls.
      { [requests(0)]: always(7), [requests(40003)]: always(7) },
    ],
  },
  PlantStoreOutcomeUnknown: {
    fires: [{ [requests(50400)]: lately(1, 5) }, { [requests(50000)]: lately(1, 5) }],
    silent: [{ [requests(50400)]: always(7), [requests(50300)]: lately(1, 5) }],
  },
  PlantStoreOverloaded: {
    fires: [{ [WAITING]: always(6000) }, { [requests(50301)]: lately(1, 6) }],
    silent: [{ [WAITING]: lately(6000, 3, 20) }, { [requests(50301)]: always(7) }],
  },
  PlantStoreSlow: { fires: [successes(90, 98)], silent: [successes(90, 100)] },
  PlantStoreWrongTokens: { fires: [{ [WRONG_TOKENS]: growing(40) }], silent: [{ [WRONG_TOKENS]: growing(20) }] },
  PlantStoreTokenExpires: {
    // Also of a client that sends a request now and then.
    fires: [{ [TOKEN_EXPIRES]: always(86_400) }, { [TOKEN_EXPIRES]: lately(90 * 86_400, 20, 86_400) }],
    silent: [{ [TOKEN_EXPIRES]: always(15 * 86_400) }],
  },
};

/** In the end exactly these alerts fire, for one instance of two: the other one is healthy. */
function test(series: Series, alerts: readonly string[]): object {
  const all = { ...HEALTHY, ...ofOther(HEALTHY), ...series };
  const firing = alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }));
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"})';
  return {
    interval: '30s',
    input_series: Object.entries(all).map(([series, values]) => ({ series, values })),
    promql_expr_test: [{ expr, eval_time: '20m', exp_samples: firing }],
  };
}

describeWith(PROMTOOL === undefined ? MISSING : undefined, 'deploy/prometheus/alerts.yml', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-alerts-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Rejects with what promtool prints if it finds a fault. */
  async function run(tests: object[]): Promise<string> {
    const file = join(folder, 'test.yml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '30s', tests }));
    return (await promisify(execFile)(PROMTOOL ?? '', ['test', 'rules', file])).stdout;
  }

  it.each(RULES)('should have $alert fire when it must, and no other', async ({ alert }) => {
    const { fires = [], silent = [] } = CASES[alert] ?? {};
    const tests = [...fires.map((series) => test(series, [alert])), ...[{}, ...silent].map((each) => test(each, []))];
    expect(fires.length * silent.length).toBeGreaterThan(0);
    expect(await run(tests)).toContain('SUCCESS');
  });

  it.each(RULES)('should lead from $alert to its section of a page', ({ alert, annotations }) => {
    const anchor = alert.toLowerCase();
    const [, page = ''] = /^\{\{ or \$externalLabels\.\w+ "docs" \}\}\/(\S+)#/.exec(annotations.runbook_url) ?? [];
    expect(annotations.runbook_url).toMatch(new RegExp(`#${anchor}$`));
    expect(readFileSync(`docs/${page}`, 'utf8')).toMatch(new RegExp(`^(?:<a id="${anchor}">|#+ ${alert}$)`, 'm'));
  });

  it('should, like the panels of Grafana, ask for what /metrics has, from the first scrape on', async () => {
    const store = await startStore();
    const page = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
    await store.stop();
    const panels = readFileSync('deploy/grafana/plant-store.json', 'utf8').match(/(?<="expr": ").*(?=")/g) ?? [];
    const selectors = [...RULES.map(({ expr }) => expr), ...panels.map((text) => text.replaceAll('\\"', '"'))]
      .flatMap((expr) => [...expr.matchAll(/\b((?:plant_store|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)])
      .map(([, name = '', matchers = '']) => ({ name, matchers }));
    expect(selectors.length).toBeGreaterThan(RULES.length + 20);
    const missing = selectors.filter(({ name, matchers }) => {
      const labels = [...matchers.matchAll(/(\w+)=~?"([^"]*)"/g)].filter(([, label]) => label !== 'instance');
      const samples = page.split('\n').filter((line) => /^\w+/.exec(line)?.[0] === name);
      // A label has each of the values that are asked for.
      const wanted = labels.flatMap(([, label = '', values = '']) =>
        values.split('|').map((value) => new RegExp(`\\b${label}="${value}"`)),
      );
      return samples.length === 0 || wanted.some((label) => !samples.some((sample) => label.test(sample)));
    });
    expect(missing).toEqual([]);
  });
});
