import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { SECRETS, VARIABLES } from '../../src/service/environment.js';

const path = (name: string) => new URL(`../../${name}`, import.meta.url);
const lines = (name: string) => readFileSync(path(name), 'utf8').split('\n');

const HEAP_FLAG = '--heap-growing-percent=60';

describe('Dockerfile', () => {
  const instructions = lines('Dockerfile').filter((line) => !line.startsWith('#'));
  const starting = (word: string) => instructions.filter((line) => line.startsWith(word));

  it('should label the image with its version, its sources and their commit', () => {
    const { version } = JSON.parse(lines('package.json').join('\n')) as { version: string };
    const labels = [...instructions.join('\n').matchAll(/image\.(version|source|revision)="(.*?)"/g)];
    expect(labels.map(([, name, value]) => [name, value])).toEqual([
      ['version', version],
      ['source', '${SOURCE}'],
      ['revision', '${COMMIT}'],
    ]);
  });

  it('should run the service as a user that is not root, check its health, and hand it the signals', () => {
    const [user = ''] = starting('USER').slice(-1);

    expect(user).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    expect(instructions.slice(instructions.indexOf(user)).join('\n')).toMatch(/^HEALTHCHECK /m);
    expect(starting('CMD')).toEqual([`CMD ["node", "${HEAP_FLAG}", "dist/main.js", "serve"]`]);
  });

  it('should have the flag for memory that npm start has, and that this Node.js knows', () => {
    const { scripts } = JSON.parse(lines('package.json').join('\n')) as { scripts: Record<string, string> };
    expect(scripts.start).toContain(`node ${HEAP_FLAG} scripts/start.mjs serve`);
    expect(spawnSync(process.execPath, [HEAP_FLAG, '--version']).status).toBe(0);
  });
});

describe('.dockerignore', () => {
  const patterns = lines('.dockerignore').filter((line) => line !== '' && !line.startsWith('#'));

  it('should let in nothing but what it names', () => {
    expect(patterns[0]).toBe('*');
  });

  it('should name what exists', () => {
    const named = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));

    expect(named.filter((name) => !existsSync(path(name.replace(/\/\*.*/, ''))))).toEqual([]);
  });

  it('should let in all that the build reads', () => {
    const [, sources = ''] = /const SOURCES = \[(.*?)\];/s.exec(lines('scripts/ensure-build.mjs').join('\n')) ?? [];
    const read = [...sources.matchAll(/'(.*?)'/g)].map(([, name = '']) => name);

    expect(read).toContain('tsconfig.build.json');
    expect(read.filter((name) => !patterns.includes(`!${name}`))).toEqual([]);
  });
});

describe('docker-compose.yml', () => {
  const compose = lines('docker-compose.yml').filter((line) => !line.trimStart().startsWith('#'));
  const text = compose.join('\n');
  /** The lines below a key, as far as they are indented. */
  const block = (key: string, indent = '') =>
    new RegExp(`^${indent}${key}:.*\n((?:${indent} +.*\n|\n)*)`, 'm').exec(text)?.[1] ?? '';
  const services = [...block('services').matchAll(/^ {2}(\S+):$/gm)].map(([, name]) => name ?? '');

  it('should hand on every variable of the environment, and those of the owner to migrate alone', () => {
    const all = Object.keys(VARIABLES);
    const handedOn = (text: string) =>
      all.filter((name) => new RegExp(`^ +${name}${SECRETS.includes(name) ? '(_FILE)?' : ''}:`, 'm').test(text));
    const owners = all.filter((name) => name.startsWith('MIGRATION_'));

    expect(handedOn(block('x-configuration'))).toEqual(
      all.filter((name) => name !== 'NODE_ENV' && !owners.includes(name)),
    );
    expect(handedOn(block('migrate', '  '))).toEqual(owners);
    expect(handedOn(block('api', '  '))).toEqual([]);
  });

  it('should show the password of the owner to migrate and the database only', () => {
    const readers = services.filter((name) => block(name, '  ').includes('owner-credentials:/run/plant-store-owner'));
    expect(readers).toEqual(['migrate', 'credentials', 'db']);
  });

  it('should publish the service on this machine only, unless HOST says otherwise', () => {
    expect(text.match(/published: .*/g)).toEqual(['published: ${PORT:-3000}']);
    expect(text).toContain('        host_ip: ${HOST:-127.0.0.1}\n');
  });

  it('should tell the service of static access tokens only if there are any', () => {
    const file = '/run/plant-store/access-tokens';
    expect(block('x-configuration')).toContain(
      `  ACCESS_TOKENS_FILE: \${ACCESS_TOKENS_FILE:+${file}}\${ACCESS_TOKENS:+${file}}\n`,
    );
    expect(readFileSync(path('deploy/docker/credentials.mjs'), 'utf8')).toContain("join(folder, 'access-tokens')");
  });

  it('should hold no secret', () => {
    const values = [...text.matchAll(/^ *\w*(?:PASSWORD|TOKEN)\w*:[ \t]*(.*)$/gm)].map(([, value]) => value);

    expect(values.length).toBeGreaterThan(0);
    expect(values.filter((value) => value !== '' && !/^(\/run\/|\$\{\w+:\+\/run\/)/.test(value ?? ''))).toEqual([]);
    expect(text).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
  });
});

describe('docker-compose.scale.yml', () => {
  const text = lines('docker-compose.scale.yml')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n');
  const service = (name: string) => new RegExp(`^  ${name}:\n((?: {4}.*\n|\n)*)`, 'm').exec(text)?.[1] ?? '';

  it('should publish the port of HAProxy alone, on this machine only, unless HOST says otherwise', () => {
    expect(service('api')).toMatch(/^ {4}ports: !reset \[\]$/m);
    expect(text.match(/published: .*/g)).toEqual(['published: ${PORT:-3000}']);
    expect(service('haproxy')).toContain('        host_ip: ${HOST:-127.0.0.1}\n');
    expect(text.match(/^ +networks: .*/gm)).toEqual(['    networks: [front]']);
  });

  it('should have the instances answer HAProxy, and wait until it has noticed their end', () => {
    for (const variable of ['MANAGEMENT_HOST:-0.0.0.0', 'DRAIN_DELAY:-2000']) {
      expect(service('api')).toContain(`${variable.replace(/:.*/, '')}: \${${variable}}\n`);
    }
  });

  it('should run a pinned version of HAProxy on the configuration that is in deploy/', () => {
    expect(service('haproxy')).toMatch(/image: \$\{HAPROXY_IMAGE:-haproxy:\d+\.\d+-alpine\}/);
    expect(service('haproxy')).toContain("'./deploy/haproxy:/usr/local/etc/haproxy:ro'");
    const folder = 'deploy/haproxy/';
    const configuration = lines(`${folder}haproxy.cfg`).join('\n');
    for (const variable of ['LISTEN', 'CONNECTIONS', 'PLANT_STORE', 'READINESS_PORT']) {
      expect(service('haproxy')).toMatch(new RegExp(`^ {6}${variable}: `, 'm'));
      expect(configuration).toContain(`\${${variable}`);
    }
    const answers = [...configuration.matchAll(/ errorfile (?:\d+ )?(errors\/(\d+)\.http)\b/g)];
    expect(answers).toHaveLength(9);
    for (const [, file = '', number] of answers) {
      const [head = '', body = ''] = readFileSync(path(folder + file), 'utf8').split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 400 /);
      expect(head).toContain(`\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
      expect(Object.keys(ERROR_CATALOGUE)).toContain(number);
      expect(JSON.parse(body)).toEqual({ error: Number(number), message: expect.any(String) });
    }
  });
});
