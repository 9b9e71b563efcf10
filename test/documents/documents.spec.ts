import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { PlantsAuthOptions } from '../../src/auth/auth.options.js';
import { isWellFormedToken, makeToken } from '../../src/auth/token-format.js';
import { MigratorSettings } from '../../src/database/database.options.js';
import { ERROR_CATALOGUE } from '../../src/errors/error-catalogue.js';
import { PlantsOptions, PlantsRouteOptions } from '../../src/plants/plants.options.js';
import { brokenLinks } from '../support/documents/links.js';
import { blocksIn, PAGES, read, ROOT, tableOf } from '../support/documents/pages.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

describe('Pages', () => {
  it('should have only links that lead somewhere', () => {
    expect(PAGES.length).toBeGreaterThan(25);
    expect(PAGES.flatMap((page) => brokenLinks(ROOT, page))).toEqual([]);
  });

  it('should have commands, JSON and YAML that can be read', () => {
    for (const { code } of blocksIn('sh'))
      expect([code, spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' }).stderr]).toEqual([code, '']);
    for (const { code } of blocksIn('json')) expect(() => JSON.parse(code) as unknown).not.toThrow();
    for (const { code } of blocksIn('yaml'))
      expect(parseAllDocuments(code).flatMap((one) => ('errors' in one ? one.errors : []))).toEqual([]);
  });

  it('should name only files in the architecture that exist', () => {
    const paths = read('docs/architecture.md').match(/\b[a-z][\w-]*(?:\/[\w-]+)+(?:\.[\w-]+)*\.ts\b/g) ?? [];
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(`${ROOT}src/${path}`))).toEqual([]);
  });

  it('should list every error number as the catalogue has it, and explain what "Retryable?" says', () => {
    const catalogue = Object.entries(ERROR_CATALOGUE).map(([error, { meaning, retry }]) => [error, meaning, retry]);
    expect(tableOf('docs/errors.md', '| error | meaning |')).toEqual(catalogue);
    const [beginning = ''] = read('docs/errors.md').split(/^## .*$/m);
    const explained = [...beginning.matchAll(/\*\*(.+?)\*\*: /g)].map(([, value]) => value);
    expect(explained.sort()).toEqual([...new Set(catalogue.map(([, , retry]) => retry))].sort());
  });

  it.each([
    { name: 'PlantsModule', Options: [PlantsOptions, PlantsRouteOptions] },
    { name: 'PlantsAuthModule', Options: [PlantsAuthOptions] },
    { name: 'Migrator', Options: [MigratorSettings] },
  ])('should list every option of $name, with the default of the code', ({ name, Options }) => {
    const options = Object.assign({}, ...Options.map((Class) => new Class())) as Record<string, unknown>;
    const isShown = (value: unknown): boolean => ['string', 'number'].includes(typeof value);
    const expected = Object.entries(options).map(([option, value]) => [option, isShown(value) ? String(value) : '']);
    const [, list = ''] = read('docs/embedding.md').split(new RegExp(`^\`${name}\`[^\n]*:\n\n`, 'm'));
    const listed = [...(list.split('\n\n')[0] ?? '').matchAll(/^- `(\w+)`(?: \(`(\w+)`\))?: \S/gm)];
    expect(listed.map(([, option = '', value = '']) => [option, value]).sort()).toEqual(expected.sort());
  });

  it('should install the version of the package, the packages that the service asks for, and the numbers of deploy/', () => {
    const page = read('docs/install.md');
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(new Set(page.match(/\b\d+\.\d+\.\d+(?=\.tgz)/g))).toEqual(new Set([version]));
    const asked =
      ['check', 'serve']
        .map((name) => read(`src/service/cli/${name}.ts`))
        .join()
        .match(/(?<=')[@\w/-]+@\d+(?=')/g) ?? [];
    expect(asked.length).toBeGreaterThan(2);
    for (const name of asked) expect(page).toContain(` ${name}`);
    const unit = read('deploy/systemd/plant-store.service');
    const manifest = read('deploy/kubernetes/plant-store.yaml');
    const milliseconds = (name: string): string => new RegExp(`${name}, value: '(\\d+)000'`).exec(manifest)?.[1] ?? '';
    expect(page).toContain(`\`TimeoutStopSec\` is ${/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1] ?? ''} seconds`);
    expect(page).toContain(`for up to ${/wait-until-ready\.mjs (\d+)$/m.exec(unit)?.[1] ?? ''} seconds`);
    for (const name of ['DRAIN_DELAY', 'SHUTDOWN_TIMEOUT'])
      expect(page).toContain(`\`${name}\` is ${milliseconds(name)} seconds`);
  });
});

describe('The metrics of docs/observability.md', () => {
  let store: Store;

  beforeAll(async () => {
    store = await startStore();
  });
  afterAll(() => store.stop());

  it('should be those of the service, each with its labels, and some of the process', async () => {
    const { headers } = await issueToken(store.database, { expires: '1 day' });
    for (const credential of [{}, headers]) await store.post('{"id":1,"name":"Rose"}', credential);
    const scraped = await (await fetch(`http://127.0.0.1:${store.managementPort}/metrics`)).text();
    const names = [...scraped.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
    const labelsOf = (name: string): string =>
      [...scraped.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(?:le="[^"]*",?)?(\\w*)`, 'gm'))]
        .map(([, label = '']) => label)
        .reduce((one, other) => one || other, '');
    const own = names.filter((name) => name.startsWith('plant_store_')).map((name) => [name, labelsOf(name)]);
    const page = read('docs/observability.md');
    const listed = [...page.matchAll(/^- `(plant_store_\w+)`(?: \(`(\w+)`\))?: /gm)];
    expect(listed.map(([, name = '', label = '']) => [name, label]).sort()).toEqual(own.sort());
    // Those that Prometheus and Grafana are told of, too.
    const others = ['deploy/prometheus/alerts.yml', 'deploy/grafana/plant-store.json'].map(read).join();
    const used = (page + others).match(/\b(?:plant_store|nodejs|process)_(?!docs)\w+/g) ?? [];
    expect(used.length).toBeGreaterThan(30);
    const known = new Set([
      ...names,
      ...names.flatMap((name) => ['_bucket', '_sum', '_count'].map((end) => name + end)),
    ]);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('The pattern of SECURITY.md', () => {
  const [, pattern = '', example = ''] = /```text\n(.*)\n```[^]*```text\n(.*)\n```/.exec(read('SECURITY.md')) ?? [];
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

  /** The checksum as the page describes it. */
  function checksumOf(token: string): string {
    let text = '';
    for (let rest = crc32(token.slice(6, -6)); rest > 0; rest = Math.floor(rest / 62))
      text = `${digits.charAt(rest % 62)}${text}`;
    return text.padStart(6, '0');
  }

  it('should find every token and no other, and the checksum and the example be those of a token', () => {
    const tokens = Array.from({ length: 100 }, makeToken);
    for (const token of [...tokens, example]) {
      for (const text of [token, `TOKEN=${token}\n`, `"${token}"`, `https://x/?t=${token}&u`])
        expect(text.match(new RegExp(pattern, 'g'))).toEqual([token]);
      for (const text of [token.slice(0, -1), `${token}x`, `x${token}`, token.replace(/.{9}$/, '-$&')])
        expect(text).not.toMatch(new RegExp(pattern));
      expect([token.slice(-6), isWellFormedToken(token)]).toEqual([checksumOf(token), true]);
    }
    expect(example).toMatch(/^plant_EXAMPLEexample/);
  });
});
