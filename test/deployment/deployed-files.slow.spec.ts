import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseDocument } from 'yaml';
import { readEnvironment } from '../../src/config/configuration.js';
import { Environment, SECRETS } from '../../src/config/environment.js';
import { read } from '../support/documents/documents.js';
import { portOf } from '../support/http/free-port.js';
import { describeWith, PlantStoreProcess } from '../support/service/process.js';

const VARIABLES = Object.keys(new Environment());

type Variables = NodeJS.Dict<string | null>;
type Service = Readonly<{ environment: Variables; stop_grace_period: string; ports: unknown; ulimits: unknown }>;
type Compose = Readonly<{ services: Record<'api' | 'migrate' | 'haproxy', Service> }>;

/** With what each `${NAME:-default}` is if nothing is set. */
const withDefaults = (text: string): string => {
  const next = text.replace(/\$\{\w+:(?:-([^${}]*)|\+[^${}]*)\}/g, '$1');
  return next === text ? text : withDefaults(next);
};
const composeFile = (path: string): Compose =>
  parseDocument(withDefaults(read(path)), { merge: true }).toJS() as Compose;

const { api, migrate } = composeFile('docker-compose.yml').services;
const scaled = composeFile('docker-compose.scale.yml').services;
/** The unit of systemd is on the page. */
const inUnit = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(read('docs/install.md'))?.[1] ?? '';

/** What each process that the files start has in its environment. */
const ENVIRONMENTS: Record<string, Variables> = {
  'api of docker-compose.yml': api.environment,
  'migrate of docker-compose.yml': migrate.environment,
  'api of docker-compose.scale.yml': { ...api.environment, ...scaled.api.environment },
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
      const known = [...VARIABLES, ...SECRETS.map((secret) => `${secret}_FILE`)];
      const names = Object.keys(variables);
      expect(names.length).toBeGreaterThan(1);
      expect(names.filter((each) => !known.includes(each) || /(?:PASSWORD|TOKENS)$/.test(each))).toEqual([]);
      expect(readAs(name).faults).toEqual([]);
      expect(names.some((each) => each.startsWith('MIGRATION_'))).toBe(name.includes('migrate'));
    },
  );

  it('should hand on every variable of the caller of Docker Compose to the service', () => {
    const names = Object.keys(api.environment).map((name) => name.replace(/_FILE$/, ''));
    const others = VARIABLES.filter((name) => !names.includes(name));
    expect(others).toEqual(['NODE_ENV', 'MIGRATION_DATABASE_URL', 'MIGRATION_DATABASE_PASSWORD']);
  });

  it('should leave a stop the time that it takes, and the service the descriptors that it needs', () => {
    const times: [string, number][] = [
      ['api of docker-compose.yml', Number(/^5s(\d+)ms$/.exec(api.stop_grace_period)?.[1]) + 5000],
      ['systemd', Number(inUnit('TimeoutStopSec')) * 1000],
    ];
    for (const [name, time] of times) {
      const { SHUTDOWN_TIMEOUT, DRAIN_DELAY, STORAGE_TIMEOUT } = readAs(name).environment;
      expect(SHUTDOWN_TIMEOUT).toBeGreaterThan(DRAIN_DELAY + STORAGE_TIMEOUT);
      expect(time).toBeGreaterThanOrEqual(SHUTDOWN_TIMEOUT + 5000);
    }
    expect([api.ulimits, inUnit('LimitNOFILE')]).toEqual([{ nofile: 12_000 }, '12000']);
    expect(readEnvironment({}).environment.MAX_CONNECTIONS).toBeLessThan(11_000);
  });

  it('should run the same command everywhere, for this machine only', () => {
    const { version, scripts } = JSON.parse(read('package.json')) as {
      version: string;
      scripts: Record<string, string>;
    };
    expect(scripts['start:prod']).toBe('exec node dist/main.js');
    expect(read('Dockerfile')).toContain(`\nCMD ["node", "dist/main.js"]`);
    expect(read('Dockerfile')).toContain(`image.version="${version}"`);
    expect(inUnit('ExecStart')).toBe('/usr/bin/node dist/main.js');
    const local = [{ host_ip: '127.0.0.1' }];
    expect([api.ports, scaled.api.ports, scaled.haproxy.ports]).toMatchObject([local, [], local]);
  });
});

const ALERTS_FILE = resolve('deploy/prometheus/alerts.yml');
const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find(existsSync);
const MISSING = 'there is no promtool in the usual places. Install it (on Debian: apt-get install prometheus).';

type Rule = Readonly<{ alert: string; annotations: { runbook_url: string } }>;
const RULES = (parse(read('deploy/prometheus/alerts.yml')) as { groups: [{ rules: Rule[] }] }).groups[0].rules;

/** What is scraped in 20 minutes, once in 30 seconds, in the notation of promtool. */
type Series = Readonly<Record<string, string>>;

const DAY = 86_400;
const requests = (error: number): string => `plant_store_requests_total{error="${error}"}`;
const answers = (outcome: string): string => `plant_store_request_duration_seconds_count{outcome="${outcome}"}`;
const successes = (le: string): string => `plant_store_request_duration_seconds_bucket{outcome="success",le="${le}"}`;

/** A store that creates a few plants a second, and refuses some requests. */
const HEALTHY: Series = {
  'up{}': '1x40',
  'plant_store_ready{}': '1x40',
  'plant_store_creates_waiting{}': '20x40',
  'plant_store_wrong_tokens_total{}': '0x40',
  'plant_store_token_expires_seconds{}': `${90 * DAY}x40`,
  ...Object.fromEntries([50000, 50300, 50301, 50400].map((error) => [requests(error), '0x40'])),
  [answers('success')]: '0+100x40',
  [answers('refused')]: '0+5x40',
  [answers('failed')]: '0x40',
  ...Object.fromEntries(['0.1', '1', '5', '+Inf'].map((le) => [successes(le), '0+100x40'])),
};

/** What is scraped when each alert must fire, and when none must. All else is healthy. */
const CASES: Record<string, Series[]> = {
  PlantStoreDown: [{ 'up{}': '0x40' }, { 'up{}': '_x40' }],
  PlantStoreNotReady: [{ 'plant_store_ready{}': '0x40' }],
  PlantStoreRequestsFail: [{ [answers('failed')]: '0+2x40' }],
  PlantStoreOutcomeUnknown: [{ [requests(50400)]: '0x35 1x4' }, { [requests(50000)]: '0x35 1x4' }],
  PlantStoreOverloaded: [{ 'plant_store_creates_waiting{}': '6000x40' }, { [requests(50301)]: '0x34 1x5' }],
  PlantStoreSlow: [{ [successes('0.1')]: '0+90x40', [successes('1')]: '0+98x40' }],
  PlantStoreWrongTokens: [{ 'plant_store_wrong_tokens_total{}': '0+40x40' }],
  PlantStoreTokenExpires: [{ 'plant_store_token_expires_seconds{}': `${DAY}x40` }],
  '': [
    // One scrape that failed, and a rolling restart.
    { 'up{}': '1x39 0x0', 'plant_store_ready{}': '1x38 0x1' },
    { [answers('success')]: '0+1000x40', [answers('failed')]: '0+1x40' },
    { [requests(50400)]: '7x40', [requests(50301)]: '7x40', [answers('failed')]: '0x35 1x4' },
    // JWTs with unknown keys.
    { [requests(50300)]: '0+20x40', [answers('refused')]: '0+20x40' },
    { 'plant_store_creates_waiting{}': '20x37 6000x2', [successes('0.1')]: '0+90x40' },
    { 'plant_store_wrong_tokens_total{}': '0+20x40', 'plant_store_token_expires_seconds{}': `${15 * DAY}x40` },
  ],
};

/** In the end exactly this alert fires. */
function test(alert: string, series: Series): object {
  const scraped = Object.entries({ ...HEALTHY, ...series }).map(([name, values]) => ({
    series: name.replace('{', '{job="plant-store",instance="a:9464",'),
    values,
  }));
  const firing = alert === '' ? [] : [{ labels: `{alertname="${alert}"}`, value: 1 }];
  const asked = { expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '20m', exp_samples: firing };
  return { interval: '30s', input_series: scraped, promql_expr_test: [asked] };
}

describeWith(PROMTOOL === undefined ? MISSING : undefined, 'deploy/prometheus/alerts.yml', () => {
  it('should have each alert fire when it must, and no other', async () => {
    expect(Object.keys(CASES)).toEqual([...RULES.map(({ alert }) => alert), '']);
    const tests = Object.entries(CASES).flatMap(([alert, all]) => all.map((series) => test(alert, series)));
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-alerts-'));
    // JSON is YAML.
    const rules = JSON.stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '30s', tests });
    await writeFile(join(folder, 'test.yml'), rules);
    // It rejects with what promtool prints if it finds a fault.
    const { stdout } = await promisify(execFile)(PROMTOOL ?? '', ['test', 'rules', join(folder, 'test.yml')]);
    expect(stdout).toContain('SUCCESS');
    await rm(folder, { recursive: true });
  });

  it.each(RULES)('should lead from $alert to its section of a page', ({ alert, annotations }) => {
    const [, page = '', anchor] = /"docs" \}\}\/(\S+)#(\w+)$/.exec(annotations.runbook_url) ?? [];
    expect(anchor).toBe(alert.toLowerCase());
    expect(read(`docs/${page}`)).toMatch(new RegExp(`^(?:<a id="${anchor}">|#+ ${alert}$)`, 'm'));
  });
});

const OWN = 'my-own-secret-my-own-secret';
const DATABASE_FILES = ['shared/database-password', 'owners/database-password'];

describe('A script of a deployment', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-scripts-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const run = async (name: string, args: string[], variables: Record<string, string> = {}): Promise<unknown[]> => {
    const { ended, output } = await PlantStoreProcess.run(args, variables, { script: resolve('deploy/docker', name) });
    return [await ended, output];
  };
  const provide = (variables?: Record<string, string>): Promise<unknown[]> =>
    run('credentials.mjs', [join(folder, 'shared'), join(folder, 'owners')], variables);
  /** The mode of a file, and the secret in it. */
  const secretIn = (name: string): [number, string] => {
    const path = join(folder, name);
    return [statSync(path).mode & 0o777, readFileSync(path, 'utf8').trimEnd()];
  };

  it('should make two database passwords once, for those who need them alone, and not show them', async () => {
    for (const name of ['shared', 'owners']) mkdirSync(join(folder, name));
    const [code, output] = await provide();
    expect(code).toBe(0);
    const made = DATABASE_FILES.map(secretIn);
    for (const [mode, password] of made) {
      expect([mode, password]).toEqual([0o440, expect.stringMatching(/^[\w-]{43}$/)]);
      expect(output).not.toContain(password);
    }
    expect(made[0]).not.toEqual(made[1]);

    // Static access tokens stay as long as they are given, passwords for ever.
    await writeFile(join(folder, 'own'), `\ufeff${OWN}\n`);
    const given = { DATABASE_PASSWORD: 'my own', ACCESS_TOKENS_FILE: join(folder, 'own') };
    expect(await provide(given)).toEqual([0, expect.not.stringContaining(OWN)]);
    expect(secretIn('shared/access-tokens')).toEqual([0o400, OWN]);
    await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
    expect(DATABASE_FILES.map(secretIn)).toEqual([[0o440, 'my own'], made[1]]);
    expect(() => secretIn('shared/access-tokens')).toThrow('ENOENT');
    const fault = expect.stringMatching(/^ACCESS_TOKENS_FILE: is empty/);
    expect(await provide({ ACCESS_TOKENS_FILE: '/dev/null' })).toEqual([1, fault]);
  });

  it('should turn the status of /readyz into its exit code, and fail without an answer', async () => {
    let status = 200;
    const server = createServer((request, response) => {
      response.writeHead(status).end(`asked for ${String(request.url)}`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    // Node.js 24 would ask a proxy, and there is none.
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
    const variables = { MANAGEMENT_PORT: String(portOf(server)), MANAGEMENT_HOST: '0.0.0.0', ...proxy };
    const check = (): Promise<unknown[]> => run('healthcheck.mjs', [], variables);
    expect(await check()).toEqual([0, 'asked for /readyz']);
    status = 503;
    expect(await check()).toEqual([1, 'asked for /readyz']);
    server.close();
    expect(await check()).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  });
});
