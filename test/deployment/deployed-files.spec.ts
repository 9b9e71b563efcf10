import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { readEnvironment, SECRETS, VARIABLES } from '../../src/service/environment.js';

type Variables = Record<string, string | null>;

interface Compose {
  services: Record<
    string,
    { environment?: Variables; stop_grace_period?: string; ports?: object[]; ulimits?: { nofile: number } }
  >;
}

interface Container {
  image: string;
  env: { name: string; value: string }[];
}

interface Deployment {
  spec: {
    template: {
      spec: { terminationGracePeriodSeconds: number; initContainers: [Container]; containers: [Container] };
    };
  };
}

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

  it("should have HAProxy's own answers in the form of the service", () => {
    const names = read('deploy/haproxy/haproxy.cfg').match(/(?<=errors\/)\d+(?=\.http)/g) ?? [];
    expect(names.length).toBeGreaterThan(7);
    for (const name of names) {
      const [head = '', body = ''] = read(`deploy/haproxy/errors/${name}.http`).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 400 /);
      expect(head).toContain(`\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
      expect(JSON.parse(body)).toEqual({ error: Number(name), message: expect.any(String) });
      expect(ERROR_CATALOGUE).toHaveProperty(name);
    }
  });
});
