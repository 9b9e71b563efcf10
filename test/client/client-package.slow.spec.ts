import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { describeInBrowser, openBrowser } from '../support/documents/browser.js';
import { ClientSite } from '../support/documents/client-site.js';
import { MANIFEST } from '../support/documents/package-manifest.js';
import { filesIn } from '../support/host/packed-host.js';
import { startStore, type Store, TOKEN } from '../support/service/store.js';

const fromRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const BIG_ID = 2n ** 53n + 1n;

describe('plant-store-client, installed alone', () => {
  let folder: string;
  let tarball: string;
  let packageFolder: string;
  let site: ClientSite;
  let store: Store;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-client-user-'));
    packageFolder = join(folder, 'node_modules/plant-store-client');
    tarball = join(folder, (await run(process.execPath, fromRoot('scripts/pack-client.mjs'))).trim());
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await run('npm', 'install', tarball, '--offline', '--no-audit', '--no-fund', '--cache', join(folder, '.npm'));
    site = await ClientSite.start('plant-store-client', packageFolder);
    store = await startStore({ CORS_ORIGINS: site.origin });
  });
  afterAll(async () => {
    await store.stop();
    await site[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Runs a command in the folder, and resolves to its standard output. */
  async function run(command: string, ...args: string[]): Promise<string> {
    const { PATH, HOME } = process.env;
    // npm is a script there.
    const shell = process.platform === 'win32' && command === 'npm';
    const ended = promisify(execFile)(command, args, { cwd: folder, env: { PATH, HOME }, shell });
    const { stdout } = await ended.catch((error: unknown) => {
      const { message, stdout } = error as Error & { stdout: string };
      throw new Error(`${message}\n${stdout}`);
    });
    return stdout;
  }

  const readInstalled = (path: string): Promise<string> => readFile(join(packageFolder, path), 'utf8');

  it('should be all that is installed, and at most 20 kB', async () => {
    const { version, license, engines, ...manifest } = JSON.parse(await readInstalled('package.json')) as Record<
      string,
      unknown
    >;
    expect((await readdir(join(folder, 'node_modules'))).sort()).toEqual(['.package-lock.json', 'plant-store-client']);
    expect((await stat(tarball)).size).toBeLessThanOrEqual(20_000);
    expect({ version, license, engines }).toEqual({
      version: MANIFEST.version,
      license: MANIFEST.license,
      engines: MANIFEST.engines,
    });
    expect(manifest).toMatchObject({ sideEffects: false, publishConfig: { access: 'public', provenance: true } });
    expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([]);
  });

  it('should hold the client, the catalogue of errors and what people read', async () => {
    const files = await filesIn(packageFolder);
    expect(files.filter((file) => !/^dist\/(esm\/)?client\//.test(file))).toEqual([
      'LICENSE',
      'README.md',
      ...['', 'esm/'].flatMap((kind) => [
        `dist/${kind}errors/error-catalogue.d.ts`,
        `dist/${kind}errors/error-catalogue.js`,
      ]),
      'dist/esm/package.json',
      'package.json',
    ]);
    const readme = await readInstalled('README.md');
    expect(readme).toMatch(/^# plant-store-client\n/);
    expect(readme).not.toMatch(/plant-store\/client|\]\((?!https:)/);
  });

  it('should satisfy publint and attw', async () => {
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
      strict: true,
    });
    expect(messages).toEqual([]);
    const attw = fromRoot('node_modules/@arethetypeswrong/cli/dist/index.js');
    expect(await run(process.execPath, attw, tarball, '--profile', 'strict')).toMatch('No problems found');
  });

  it('should be the same client by import and by require(), and create plants', async () => {
    const options = JSON.stringify({ baseUrl: `http://127.0.0.1:${store.port}`, token: TOKEN });
    await writeFile(
      join(folder, 'user.cjs'),
      `const required = require('plant-store-client');
      import('plant-store-client').then(async (imported) => {
        const names = Object.keys(required);
        const store = new imported.PlantStoreClient(${options});
        const idempotencyKey = required.newIdempotencyKey();
        const created = await store.create({ id: ${BIG_ID}n, name: 'Rose' }, { idempotencyKey });
        const failure = await store.create({ id: ${BIG_ID}n, name: 'Rose' }).catch((error) => error);
        console.log(JSON.stringify({
          names,
          different: names.filter((name) => imported[name] !== required[name]),
          created,
          refused: failure instanceof required.PlantStoreError && failure.error,
        }));
      });`,
    );
    expect(JSON.parse(await run(process.execPath, 'user.cjs'))).toEqual({
      names: expect.arrayContaining(['AbortError', 'ERROR_CATALOGUE', 'PlantStoreClient', 'newIdempotencyKey']),
      different: [],
      created: { name: 'Rose' },
      refused: 40901,
    });
    const rows = await store.database.query('SELECT id FROM plants WHERE id = $1', [BIG_ID]);
    expect(rows).toEqual([{ id: String(BIG_ID) }]);
  });

  describeInBrowser('in a page', () => {
    it('should be ES modules that a browser loads as they are', async () => {
      const browser = await openBrowser();
      try {
        const page = await browser.newPage();
        await page.goto(site.origin);
        const options = JSON.stringify({ baseUrl: `http://127.0.0.1:${store.port}`, token: TOKEN });
        const created = page.evaluate(`import('plant-store-client').then(({ PlantStoreClient }) =>
          new PlantStoreClient(${options}).create({ id: ${BIG_ID + 1n}n, name: 'Fern' }))`);
        expect(await created).toEqual({ name: 'Fern' });
      } finally {
        await browser.close();
      }
    });
  });

  describe('the examples of its README', () => {
    const DECLARATIONS =
      'declare function currentToken(): string; declare function saveOrder(order: object): Promise<void>;\n';

    beforeAll(async () => {
      const [create = '', storeKey = '', useTypes = '', ...others] = await examples('ts');
      const [generateTypes = '', ...otherScripts] = await examples('js');
      expect([others, otherScripts]).toEqual([[], []]);

      // Their own folder may have what the user of the client alone has not.
      await mkdir(join(folder, 'types/node_modules'), { recursive: true });
      for (const name of ['openapi-typescript', 'typescript']) {
        await symlink(fromRoot(`node_modules/${name}`), join(folder, 'types/node_modules', name), 'junction');
      }
      await copyFile(fromRoot('openapi.json'), join(folder, 'types/openapi.json'));
      await writeFile(join(folder, 'types/generate.mjs'), generateTypes);
      await run(process.execPath, 'types/generate.mjs');

      const sources = {
        'create.ts': DECLARATIONS + create + storeKey,
        'required.cts': "import client = require('plant-store-client');\nexport = client;\n",
        'types/use-types.ts': `${useTypes}console.log(body);\n`,
      };
      for (const [file, text] of Object.entries(sources)) await writeFile(join(folder, file), text);
      const compilerOptions = {
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2023', 'dom'],
        types: [],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        // Those of TypeScript alone.
        skipDefaultLibCheck: true,
        rootDir: '.',
        outDir: 'built',
      };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(sources) }));
    });

    /** The code blocks in a language. */
    async function examples(language: string): Promise<string[]> {
      const readme = await readInstalled('README.md');
      const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms');
      return [...readme.matchAll(fenced)].map(([, code = '']) => code);
    }

    it('should compile strictly, and keep ids exact', async () => {
      expect(await run(process.execPath, fromRoot('node_modules/typescript/bin/tsc'), '-p', folder)).toBe('');
      expect(await run(process.execPath, 'built/types/use-types.js')).toBe('{"id":9007199254740993,"name":"Rose"}\n');
    });
  });
});
