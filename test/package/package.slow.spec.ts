import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile, cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { publint } from 'publint';
import ts from 'typescript';
import { blocksIn, linksIn, ROOT } from '../support/documents/documents.js';
import { expectCreated } from '../contract/contract-target.js';
import { INSTALL_LIMIT_MS, run, startProgram } from '../packed/packed-host.js';
import { TOKEN } from '../support/http/request.js';

/** The names of the design. */
const NAMES = `
  ApiError ApiExceptionFilter BearerAuthGuard CreatePlantOptions DatabaseOptions HostTransaction MigrationError Migrator
  NewPlant Plant PlantsAuthModule PlantsAuthModuleOptions PlantsHealth PlantsModule PlantsModuleOptions PlantsService
  Principal RequireScopes TokenVerifier
`;
/** What the blocks of the pages import, if they show no import. */
const IMPORTS = `
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { BearerAuthGuard, PlantsAuthModule, PlantsModule } from 'plant-store';
`;
/** What their reader has. */
const OF_THE_READER = `
  declare const ACCESS_TOKEN: string, DATABASE_URL: string;
  interface Config { transform: object; transformIgnorePatterns: string[] }`;

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe('The package', () => {
  let folder: string;
  let tarball: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
    await run(ROOT, `npm pack --ignore-scripts --pack-destination ${folder}`);
    tarball = join(folder, (await readdir(folder))[0] ?? '');
    await run(folder, `tar -xzf ${tarball}`);
    files = await filesIn(join(folder, 'package'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('should hold the build, the pages and what an operator installs, and nothing else', () => {
    const packed = files.map((file) => relative(join(folder, 'package'), file));
    const others = packed.filter((file) => !/^(?:dist|deploy|docs|examples)\//.test(file));
    const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md', 'bench/README.md'];
    expect(others.sort()).toEqual([...pages, '.env.example', 'LICENSE', 'openapi.json', 'package.json'].sort());
    expect(packed.filter((file) => /\.spec\.|node_modules|^examples\/.*\/(?:dist|generated)\//.test(file))).toEqual([]);
  });

  it('should have pages whose links lead to what it holds', async () => {
    for (const page of files.filter((file) => file.endsWith('.md')))
      for (const [link, path = ''] of linksIn(await readFile(page, 'utf8')))
        expect([page, link, existsSync(join(dirname(page), path))]).toEqual([page, link, true]);
  });

  it('should satisfy publint, and have types that are right in every resolution', async () => {
    const pack = { tarball: new Uint8Array(await readFile(tarball)).buffer };
    expect((await publint({ pack, strict: true })).messages).toEqual([]);
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await run(ROOT, `node ${attw} ${tarball} --profile strict`);
  });

  it('should export only the names of the design, and compile in all examples of docstrings and pages', async () => {
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const index = join(folder, 'package/dist/index.d.ts');
    const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as { config: object };
    const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, ROOT);

    const types = files.filter((file) => /\/dist\/(?!cjs).*\.d\.ts$/.test(file) && !file.includes('generated'));
    const texts = await Promise.all(types.map((file) => readFile(file, 'utf8')));
    const examples = texts.flatMap((text) => [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/).*\n)+)/gm)]);
    const ofDocstrings = examples.map(([, code = '']) => code.replace(/^ *\* ?(?:```.*\n)?/gm, ''));
    const ofPages = blocksIn('ts').map(({ code }) => code);
    expect([ofDocstrings.length > 5, ofPages.length > 2]).toEqual([true, true]);

    const sources = [join(folder, 'reader.d.ts')];
    await writeFile(join(folder, 'reader.d.ts'), OF_THE_READER);
    for (const [number, code] of [...ofDocstrings, ...ofPages].entries()) {
      const source = join(folder, `example-${number}.mts`);
      await writeFile(source, code.startsWith('import ') ? code : IMPORTS + code);
      sources.push(source);
    }
    const program = ts.createProgram([index, ...sources], { ...options, paths: { 'plant-store': [index] } });
    expect(ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), ts.createCompilerHost(options))).toBe('');
    const checker = program.getTypeChecker();
    const module = program.getSourceFile(index);
    const symbol = module && checker.getSymbolAtLocation(module);
    const names = symbol ? checker.getExportsOfModule(symbol).map(({ name }) => name) : [];
    expect(names.sort()).toEqual(NAMES.trim().split(/\s+/));
  });
});

describe('npm run install:prod', () => {
  let folder: string;
  const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-production-'));
    for (const file of ['package.json', 'package-lock.json', '.npmrc', 'dist'])
      await cp(join(ROOT, file), join(folder, file), { recursive: true });
    await run(folder, 'npm run install:prod --prefer-offline --no-audit --no-fund', {}, INSTALL_LIMIT_MS);
  }, INSTALL_LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true }));

  it('should install nothing of development, and change no file', async () => {
    const { devDependencies } = JSON.parse(await read('package.json')) as { devDependencies: object };
    const folders = await readdir(join(folder, 'node_modules'));
    // @nestjs/platform-express needs it.
    expect(Object.keys(devDependencies).filter((name) => folders.includes(name))).toEqual(['express']);
    for (const file of ['package.json', 'package-lock.json'])
      expect(await read(file)).toBe(await readFile(join(ROOT, file), 'utf8'));
  });

  it('should be all that node dist/main.js needs behind a build', async () => {
    const of = { BASE_PATH: '/api', HOST: '127.0.0.1', MANAGEMENT_PORT: '0', NODE_ENV: 'production' };
    const variables = { ACCESS_TOKENS: TOKEN, ...of };
    const service = await startProgram(join(folder, 'dist/main.js'), '/api', { variables, cwd: folder });
    try {
      expectCreated(await service.post('{"id": 1, "name": "Rose"}'), { name: 'Rose' });
    } finally {
      await service.stop();
    }
  });
});
