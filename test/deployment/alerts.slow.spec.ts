import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { describeWith } from '../support/jest/suite.js';

const ALERTS_FILE = resolve('deploy/prometheus/alerts.yml');
const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find(existsSync);
const MISSING = 'there is no promtool in the usual places. Install it (on Debian: apt-get install prometheus).';

interface Rule {
  alert: string;
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
const successes = (le: string): string =>
  named('plant_store_request_duration_seconds_bucket', `,outcome="success",le="${le}"`);

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
  ...Object.fromEntries(['0.1', '1', '5', '+Inf'].map((le) => [successes(le), growing(100)])),
};

/** Each alert, with what is scraped when it must fire, and when it must not. All else is healthy. */
const CASES: Record<string, { fires: Series[]; silent: Series }> = {
  // One scrape that failed is no alert.
  PlantStoreDown: { fires: [{ [UP]: always(0) }, { [UP]: '_x40' }], silent: { [UP]: lately(0, 1, 1) } },
  // A rolling restart.
  PlantStoreNotReady: { fires: [{ [READY]: always(0) }], silent: { [READY]: lately(0, 2, 1) } },
  PlantStoreRequestsFail: {
    fires: [{ [requests(50300)]: growing(2) }],
    silent: { [requests(0)]: growing(1000), [requests(50300)]: growing(1) },
  },
  PlantStoreOutcomeUnknown: {
    fires: [{ [requests(50400)]: lately(1, 5) }, { [requests(50000)]: lately(1, 5) }],
    silent: { [requests(50400)]: always(7), [requests(50300)]: lately(1, 5) },
  },
  PlantStoreOverloaded: {
    fires: [{ [WAITING]: always(6000) }, { [requests(50301)]: lately(1, 6) }],
    silent: { [WAITING]: lately(6000, 3, 20), [requests(50301)]: always(7) },
  },
  PlantStoreSlow: {
    fires: [{ [successes('0.1')]: growing(90), [successes('1')]: growing(98) }],
    silent: { [successes('0.1')]: growing(90) },
  },
  PlantStoreWrongTokens: { fires: [{ [WRONG_TOKENS]: growing(40) }], silent: { [WRONG_TOKENS]: growing(20) } },
  PlantStoreTokenExpires: {
    fires: [{ [TOKEN_EXPIRES]: always(86_400) }],
    silent: { [TOKEN_EXPIRES]: always(15 * 86_400) },
  },
};

/** In the end exactly these alerts fire. */
function test(series: Series, alerts: readonly string[]): object {
  const firing = alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }));
  return {
    interval: '30s',
    input_series: Object.entries({ ...HEALTHY, ...series }).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      { expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '20m', exp_samples: firing },
    ],
  };
}

describeWith(PROMTOOL === undefined ? MISSING : undefined, 'deploy/prometheus/alerts.yml', () => {
  it('should have each alert fire when it must, and no other', async () => {
    expect(Object.keys(CASES)).toEqual(RULES.map(({ alert }) => alert));
    const tests = Object.entries(CASES).flatMap(([alert, { fires, silent }]) => [
      ...fires.map((series) => test(series, [alert])),
      test(silent, []),
    ]);
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-alerts-'));
    const file = join(folder, 'test.yml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '30s', tests }));
    // It rejects with what promtool prints if it finds a fault.
    const { stdout } = await promisify(execFile)(PROMTOOL ?? '', ['test', 'rules', file]);
    expect(stdout).toContain('SUCCESS');
    await rm(folder, { recursive: true });
  });

  it.each(RULES)('should lead from $alert to its section of a page', ({ alert, annotations }) => {
    const anchor = alert.toLowerCase();
    const [, page = ''] = /^\{\{ or \$externalLabels\.\w+ "docs" \}\}\/(\S+)#/.exec(annotations.runbook_url) ?? [];
    expect(annotations.runbook_url).toMatch(new RegExp(`#${anchor}$`));
    expect(readFileSync(`docs/${page}`, 'utf8')).toMatch(new RegExp(`^(?:<a id="${anchor}">|#+ ${alert}$)`, 'm'));
  });
});
