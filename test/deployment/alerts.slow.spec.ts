import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ALERTS_FILE, alertRules } from '../support/documents/alert-rules.js';
import { describeWith } from '../support/jest/describe-with.js';

const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find((path) =>
  existsSync(path),
);
const MISSING = 'there is no promtool in the usual places. Install it (on Debian: apt-get install prometheus).';

/** What is scraped in 20 minutes, once in 30 seconds, in the notation of promtool. */
type Series = Readonly<Record<string, string>>;

const always = (value: number): string => `${value}x40`;
/** Grows by as much from one scrape to the next. */
const growing = (step: number): string => `0+${step}x40`;
/** Has another value in the last scrapes. */
const lately = (value: number, scrapes: number, before = 0): string =>
  `${before}x${40 - scrapes} ${value}x${scrapes - 1}`;
const never = '_x40';

const named = (name: string, labels = ''): string => `${name}{job="plant-store",instance="a:9464"${labels}}`;
const requests = (error: number): string => named('plant_store_requests_total', `,error="${error}"`);

/** A histogram that grows from one scrape to the next: as many observations in each bucket or below. */
function histogram(name: string, labels: string, buckets: Record<string, number>): Series {
  const entries = Object.entries(buckets);
  return Object.fromEntries(entries.map(([le, n]) => [named(`${name}_bucket`, `${labels},le="${le}"`), growing(n)]));
}
const successes = (upTo100Ms: number, upTo1s: number): Series =>
  histogram('plant_store_request_duration_seconds', ',outcome="success"', {
    0.1: upTo100Ms,
    1: upTo1s,
    5: 100,
    '+Inf': 100,
  });

const WRONG_TOKENS = named('plant_store_wrong_tokens_total');
const TOKEN_EXPIRES = named('plant_store_token_expires_seconds');
const UP = named('up');
const READY = named('plant_store_ready');
const WAITING = named('plant_store_creates_waiting');

const ofOther = (series: Series): Series =>
  Object.fromEntries(Object.entries(series).map(([name, values]) => [name.replace('a:9464', 'b:9464'), values]));

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
const CASES: { alert: string; fires: Series[]; silent: Series[] }[] = [
  {
    alert: 'PlantStoreDown',
    fires: [{ [UP]: always(0) }, { [UP]: never, ...ofOther({ [UP]: never }) }],
    // One scrape that failed.
    silent: [{ [UP]: lately(0, 1, 1) }],
  },
  {
    alert: 'PlantStoreNotReady',
    fires: [{ [READY]: always(0) }],
    // A rolling restart.
    silent: [{ [READY]: lately(0, 2, 1) }],
  },
  {
    alert: 'PlantStoreRequestsFail',
    fires: [{ [requests(50300)]: growing(2) }, { [requests(0)]: always(7), [requests(50300)]: growing(1) }],
    silent: [
      { [requests(0)]: growing(1000), [requests(50300)]: growing(1) },
      { [requests(50300)]: lately(90, 3) },
      // Nobody calls.
      { [requests(0)]: always(7), [requests(40003)]: always(7) },
    ],
  },
  {
    alert: 'PlantStoreOutcomeUnknown',
    fires: [{ [requests(50400)]: lately(1, 5) }, { [requests(50000)]: lately(1, 5) }],
    silent: [{ [requests(50400)]: always(7), [requests(50300)]: lately(1, 5) }],
  },
  {
    alert: 'PlantStoreOverloaded',
    fires: [{ [WAITING]: always(6000) }, { [requests(50301)]: lately(1, 6) }],
    silent: [{ [WAITING]: lately(6000, 3, 20) }, { [requests(50301)]: always(7) }],
  },
  { alert: 'PlantStoreSlow', fires: [successes(90, 98)], silent: [successes(90, 100)] },
  {
    alert: 'PlantStoreWrongTokens',
    fires: [{ [WRONG_TOKENS]: growing(40) }],
    silent: [{ [WRONG_TOKENS]: growing(20) }],
  },
  {
    alert: 'PlantStoreTokenExpires',
    // Also of a client that sends a request now and then.
    fires: [{ [TOKEN_EXPIRES]: always(86_400) }, { [TOKEN_EXPIRES]: lately(90 * 86_400, 20, 86_400) }],
    silent: [{ [TOKEN_EXPIRES]: always(15 * 86_400) }],
  },
];

/** In the end exactly these alerts fire, for one instance of two: the other one is healthy. */
function test(series: Series, alerts: readonly string[]): object {
  const all = { ...HEALTHY, ...ofOther(HEALTHY), ...series };
  return {
    interval: '30s',
    input_series: Object.entries(all).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: '20m',
        exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
}

describeWith(PROMTOOL === undefined ? MISSING : undefined, 'deploy/prometheus/alerts.yml', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-alerts-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Rejects with what promtool prints if it finds a fault. */
  async function promtool(...args: string[]): Promise<string> {
    return (await promisify(execFile)(PROMTOOL ?? '', args)).stdout;
  }

  async function testRules(tests: object[]): Promise<string> {
    const file = join(folder, 'test.yml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '30s', tests }));
    return promtool('test', 'rules', file);
  }

  it('should be a file that Prometheus accepts', async () => {
    expect(await promtool('check', 'rules', ALERTS_FILE)).toContain(`${CASES.length} rules found`);
  });

  it('should have a case below for each alert', () => {
    expect(CASES.map(({ alert }) => alert)).toEqual(alertRules.map(({ alert }) => alert));
  });

  it.each([
    ['as one external label says', { plant_store_docs: 'https://git.example/docs' }, 'https://git.example/docs'],
    ['in the repository if there is no such label', {}, 'docs'],
  ])('should name where the documents are, %s', async (_, external_labels, base) => {
    const [expected] = alertRules;
    const alert = {
      eval_time: '20m',
      alertname: 'PlantStoreDown',
      exp_alerts: [
        {
          exp_labels: { severity: 'critical', job: 'plant-store', instance: 'a:9464' },
          exp_annotations: {
            summary: expected?.summary.replace('{{ $labels.instance }}', 'a:9464'),
            description: expected?.description.replace('{{ $labels.instance }}', 'a:9464'),
            runbook_url: `${base}/observability.md#plantstoredown`,
          },
        },
      ],
    };
    const input = { ...test({ [UP]: always(0) }, ['PlantStoreDown']), external_labels, alert_rule_test: [alert] };
    expect(await testRules([input])).toContain('SUCCESS');
  });

  it('should be silent about a healthy store', async () => {
    expect(await testRules([test({}, [])])).toContain('SUCCESS');
  });

  it.each(CASES)('should have $alert fire when it must, and no other', async ({ alert, fires, silent }) => {
    const tests = [...fires.map((series) => test(series, [alert])), ...silent.map((series) => test(series, []))];
    expect(await testRules(tests)).toContain('SUCCESS');
  });
});
