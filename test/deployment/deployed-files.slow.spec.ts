import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { readEnvironment, SECRETS, VARIABLES } from '../../src/service/environment.js';
import { describeWith } from '../support/jest/suite.js';

type Variables = Record<string, string | null>;

interface Service {
  readonly environment?: Variables;
  readonly stop_grace_period?: string;
  readonly ports?: object[];
  readonly ulimits?: { nofile: number };
}
type Compose = Readonly<{ services: Record<string, Service> }>;
type Container = Readonly<{ image: string; env: { name: string; value: string }[] }>;
type Pod = Readonly<{ terminationGracePeriodSeconds: number; initContainers: [Container]; containers: [Container] }>;
type Deployment = Readonly<{ spec: { template: { spec: Pod } } }>;

const read = (path: string): string => readFileSync(path, 'utf8');
/** With what each `${NAME:-default}` is if nothing is set. */
const withDefaults = (text: string): string => {
  const next = text.replace(/\$\{\w+:(?:-([^${}]*)|\+[^${}]*)\}/g, '$1');
  return next === text ? text : withDefaults(next);
};
const documentOf = (path: string): unknown => parseAllDocuments(withDefaults(read(path)), { merge: true })[0]?.toJS();

const { api, migrate } = (documentOf('docker-compose.yml') as Compose).services;
const SCALE = (documentOf('docker-compose.scale.yml') as Compose).services;
const POD = (documentOf('deploy/kubernetes/plant-store.yaml') as Deployment).spec.template.spec;
const [MIGRATE, STORE] = [POD.initContainers[0], POD.containers[0]];
const UNIT = read('deploy/systemd/plant-store.service');
const [SERVICE_ENV = '', ADMIN_ENV = ''] = ['plant-store', 'admin'].map((name) => read(`deploy/systemd/${name}.env`));

const inUnit = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(UNIT)?.[1] ?? '';
/** Of lines that systemd and a shell read. */
const variablesOf = (text: string): Variables =>
  Object.fromEntries(
    [...text.matchAll(/^(?:Environment=)?([A-Z_]+)='?([^']*?)'?$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
const variablesIn = ({ env }: Container): Variables => Object.fromEntries(env.map(({ name, value }) => [name, value]));

/** What each process that the files start has in its environment. */
const ENVIRONMENTS: Record<string, Variables> = {
  'api of docker-compose.yml': api?.environment ?? {},
  'migrate of docker-compose.yml': migrate?.environment ?? {},
  'api of docker-compose.scale.yml': { ...api?.environment, ...SCALE.api?.environment },
  'migrate on Kubernetes': variablesIn(MIGRATE),
  'the service on Kubernetes': variablesIn(STORE),
  'the service of systemd': { ...variablesOf(SERVICE_ENV), ...variablesOf(UNIT.replace(/^(?!Env).*$/gm, '')) },
  'commands beside systemd': variablesOf(SERVICE_ENV + ADMIN_ENV),
};
const readAs = (name: string): ReturnType<typeof readEnvironment> => {
  // A variable without a value is handed on if the caller has it; a secret's file is not here.
  const given = Object.entries(ENVIRONMENTS[name] ?? {}).filter(([key, value]) => value && !key.endsWith('_FILE'));
  const texts = given.map(([key, value]) => [key, String(value)] as const);
  return readEnvironment({ NODE_ENV: 'production', ...Object.fromEntries(texts) });
};

describe('The deployed files', () => {
  it.each(Object.entries(ENVIRONMENTS))(
    'should give %s variables that exist, with values that it takes, and the password of the owner only to migrate',
    (name, variables) => {
      const known = [...Object.keys(VARIABLES), ...SECRETS.map((secret) => `${secret}_FILE`)];
      const names = Object.keys(variables);
      expect(names.length).toBeGreaterThan(1);
      expect(names.filter((each) => !known.includes(each))).toEqual([]);
      expect(readAs(name).faults).toEqual([]);
      expect(names.some((each) => each.startsWith('MIGRATION_'))).toBe(/migrate|commands/.test(name));
      expect(names.filter((each) => /(?:PASSWORD|TOKENS)$/.test(each))).toEqual([]);
    },
  );

  it('should hand on every variable of the caller of Docker Compose to the service', () => {
    const names = Object.keys(api?.environment ?? {}).map((name) => name.replace(/_FILE$/, ''));
    const others = Object.keys(VARIABLES).filter((name) => !names.includes(name));
    expect(others).toEqual(['NODE_ENV', 'MIGRATION_DATABASE_URL', 'MIGRATION_DATABASE_PASSWORD']);
  });

  it('should leave a stop the time that it takes, and the service the descriptors that it needs', () => {
    const [, seconds, milliseconds] = /^(\d+)s(\d+)ms$/.exec(api?.stop_grace_period ?? '') ?? [];
    const times: [string, number][] = [
      ['api of docker-compose.yml', Number(seconds) * 1000 + Number(milliseconds)],
      ['the service on Kubernetes', POD.terminationGracePeriodSeconds * 1000],
      ['the service of systemd', Number(inUnit('TimeoutStopSec')) * 1000],
    ];
    for (const [name, time] of times) {
      const { SHUTDOWN_TIMEOUT, DRAIN_DELAY, STORAGE_TIMEOUT, MAX_CONNECTIONS } = readAs(name).environment;
      expect(SHUTDOWN_TIMEOUT).toBeGreaterThan(DRAIN_DELAY + STORAGE_TIMEOUT);
      expect(time).toBeGreaterThanOrEqual(SHUTDOWN_TIMEOUT + 5000);
      for (const limit of [api?.ulimits?.nofile, inUnit('LimitNOFILE')])
        expect(Number(limit)).toBeGreaterThan(MAX_CONNECTIONS + 1000);
    }
  });

  it("should have HAProxy's own answers in the form of the service", () => {
    const answers = [...read('deploy/haproxy/haproxy.cfg').matchAll(/^ +setenv \w+ '(.*)'$/gm)];
    expect(answers).toHaveLength(4);
    for (const [, answer = ''] of answers) {
      const { error, message } = JSON.parse(answer) as { error: number; message: string };
      expect([ERROR_CATALOGUE, message]).toEqual([
        expect.objectContaining({ [error]: expect.anything() }),
        expect.any(String),
      ]);
    }
  });

  it('should ask in Grafana for metrics that there are', () => {
    const metrics = read('docs/observability.md').match(/(?<=^- `)plant_store_\w+/gm);
    const asked = read('deploy/grafana/plant-store.json').match(/plant_store_[a-z_]+/g) ?? [];
    const names = new Set(asked.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')));
    expect(metrics).toEqual(expect.arrayContaining([...names]));
  });

  it('should run the same command and version everywhere, for this machine only', () => {
    const { version, scripts } = JSON.parse(read('package.json')) as { version: string; scripts: { start: string } };
    const [flag = ''] = /--\S+(?= scripts\/start.mjs serve)/.exec(scripts.start) ?? [];
    const dockerfile = read('Dockerfile');
    expect(dockerfile).toContain(`\nCMD ["node", "${flag}", "dist/main.js", "serve"]`);
    expect(inUnit('ExecStart')).toBe(`/usr/bin/node ${flag} node_modules/plant-store/dist/main.js serve`);
    expect(dockerfile).toContain(`image.version="${version}"`);
    for (const { image } of [MIGRATE, STORE]) expect(image).toMatch(new RegExp(`:${version}$`));
    expect([api?.ports, SCALE.api?.ports, SCALE.haproxy?.ports]).toMatchObject([
      [{ host_ip: '127.0.0.1' }],
      [],
      [{ host_ip: '127.0.0.1' }],
    ]);
  });
});

const ALERTS_FILE = resolve('deploy/prometheus/alerts.yml');
const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find(existsSync);
const MISSING = 'there is no promtool in the usual places. Install it (on Debian: apt-get install prometheus).';

type Rule = Readonly<{ alert: string; annotations: { runbook_url: string } }>;
const RULES = (parse(read(ALERTS_FILE)) as { groups: [{ rules: Rule[] }] }).groups[0].rules;

/** What is scraped in 20 minutes, once in 30 seconds, in the notation of promtool; the labels of the target are added. */
type Series = Readonly<Record<string, string>>;

const always = (value: number): string => `${value}x40`;
/** Grows by as much from one scrape to the next. */
const growing = (step: number): string => `0+${step}x40`;
/** Has another value in the last scrapes. */
const lately = (value: number, scrapes: number, before = 0): string =>
  `${before}x${40 - scrapes} ${value}x${scrapes - 1}`;

const UP = 'up{}';
const READY = 'plant_store_ready{}';
const WAITING = 'plant_store_creates_waiting{}';
const WRONG_TOKENS = 'plant_store_wrong_tokens_total{}';
const TOKEN_EXPIRES = 'plant_store_token_expires_seconds{}';
const requests = (error: number): string => `plant_store_requests_total{error="${error}"}`;
const successes = (le: string): string => `plant_store_request_duration_seconds_bucket{outcome="success",le="${le}"}`;

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
  const scraped = Object.entries({ ...HEALTHY, ...series }).map(([name, values]) => ({
    series: name.replace('{', '{job="plant-store",instance="a:9464",'),
    values,
  }));
  const firing = alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }));
  const asked = { expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '20m', exp_samples: firing };
  return { interval: '30s', input_series: scraped, promql_expr_test: [asked] };
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
    expect(read(`docs/${page}`)).toMatch(new RegExp(`^(?:<a id="${anchor}">|#+ ${alert}$)`, 'm'));
  });
});
