import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import ts from 'typescript';
import { blocksIn, read, ROOT } from '../support/documents/documents.js';

const run = promisify(execFile);

/** The names of the design. */
const NAMES = [
  'ApiError',
  'ApiExceptionFilter',
  'BearerAuthGuard',
  'CreatePlantOptions',
  'DatabaseOptions',
  'HostTransaction',
  'MigrationError',
  'Migrator',
  'NewPlant',
  'Plant',
  'PlantsAuthModule',
  'PlantsAuthModuleOptions',
  'PlantsHealth',
  'PlantsModule',
  'PlantsModuleOptions',
  'PlantsService',
  'Principal',
  'RequireScopes',
  'TokenVerifier',
];
/** What the service is known for. */
const LIBRARIES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/passport',
  '@nestjs/platform-express',
  '@nestjs/swagger',
  '@prisma/client',
  'class-transformer',
  'class-validator',
  'passport-http-bearer',
];

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

const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

describe('The package', () => {
  let folder: string;
  let tarball: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
    tarball = join(folder, (await readdir(folder))[0] ?? '');
    await run('tar', ['-xzf', tarball, '-C', folder]);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('should hold the build, the pages and what an operator installs, and nothing else', async () => {
    const packed = (await filesIn(join(folder, 'package'))).map((file) => file.slice(`${folder}/package/`.length));
    const others = packed.filter((file) => !/^(?:dist|deploy|docs|examples)\//.test(file));
    const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md', 'bench/README.md'];
    expect(others.sort()).toEqual([...pages, '.env.example', 'LICENSE', 'openapi.json', 'package.json'].sort());
    expect(packed.filter((file) => /\.spec\.|node_modules|^examples\/.*\/(?:dist|generated)\//.test(file))).toEqual([]);
    expect(packed.length).toBeLessThanOrEqual(380);
    expect((await stat(tarball)).size).toBeLessThan(330_000);
  });

  it('should have pages whose links lead to what it holds', async () => {
    const packed = await filesIn(join(folder, 'package'));
    const dead: string[] = [];
    for (const page of packed.filter((file) => file.endsWith('.md'))) {
      const text = (await readFile(page, 'utf8')).replace(/^ *```.*?^ *```/gms, '');
      for (const [link, path = ''] of text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)) {
        const target = join(dirname(page), path).replace(/\/$/, '');
        if (!packed.some((file) => file === target || file.startsWith(`${target}/`))) dead.push(`${page}: ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  it('should have no constructor in an optional chain, which Bun does not read', async () => {
    const code = (await filesIn(join(folder, 'package/dist'))).filter((file) => file.endsWith('.js'));
    const texts = await Promise.all(code.map((file) => readFile(file, 'utf8')));
    expect(texts.filter((text) => /\bnew \([^()]*\?\./.test(text))).toEqual([]);
    expect(texts.length).toBeGreaterThan(50);
  });

  it('should satisfy publint, and have types that are right in every resolution', async () => {
    const pack = { tarball: new Uint8Array(await readFile(tarball)).buffer };
    expect((await publint({ pack, strict: true })).messages).toEqual([]);
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await run(process.execPath, [attw, tarball, '--profile', 'strict']);
  });

  it('should declare every package that the code imports, and use the libraries that it is known for', async () => {
    const { dependencies, peerDependencies, scripts } = JSON.parse(read('package.json')) as Record<string, object>;
    const sources = (await filesIn(join(ROOT, 'src'))).filter((file) => /(?<!\.spec)\.[cm]?ts$/.test(file));
    const imported = new Set<string>();
    for (const source of sources) {
      // Types alone are not there when it runs.
      const text = (await readFile(source, 'utf8')).replace(/^import type [^;]*;/gm, '');
      for (const { fileName } of ts.preProcessFile(text).importedFiles)
        if (!/^(?:\.|node:)/.test(fileName)) imported.add(/^(?:@[^/]+\/)?[^/]+/.exec(fileName)?.[0] ?? '');
    }
    const declared = Object.keys({ ...dependencies, ...peerDependencies });
    expect(declared).toEqual(expect.arrayContaining([...imported]));
    expect([...imported]).toEqual(expect.arrayContaining(LIBRARIES));
    const commands = Object.values(scripts ?? {}).join('\n');
    for (const tool of ['prisma', 'jest', 'tsc']) expect(commands).toMatch(new RegExp(`\\b${tool}\\b`));
  });

  it('should export the names of the design and nothing else, and compile in each example of docstrings and pages', () => {
    const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as { config: object };
    const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, ROOT);
    const index = `${ROOT}src/index.ts`;
    options.paths = { 'plant-store': [index] };
    const exports = ts.createProgram([index], options);
    const checker = exports.getTypeChecker();
    const module = checker.getSymbolAtLocation(exports.getSourceFile(index) as ts.Node);
    const names = module ? checker.getExportsOfModule(module).map(({ name }) => name) : [];
    expect(names.sort()).toEqual(NAMES);

    const own = exports.getSourceFiles().filter(({ fileName }) => /\/src\/(?!.*generated)/.test(fileName));
    const examples = own.flatMap(({ text }) => [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/).*\n)+)/gm)]);
    const ofDocstrings = examples.map(([, code = '']) => code.replace(/^ *\* ?(?:```.*\n)?/gm, ''));
    const ofPages = blocksIn('ts').map(({ code }) => code);
    expect([ofDocstrings.length > 5, ofPages.length > 2]).toEqual([true, true]);
    const sources = [...ofDocstrings, ...ofPages].map((code) => (code.startsWith('import ') ? code : IMPORTS + code));
    const files = new Map(sources.map((code, at) => [`${ROOT}example-${at}.mts`, code]));
    files.set(`${ROOT}reader.d.ts`, OF_THE_READER);
    const host = ts.createCompilerHost(options);
    host.fileExists = (file) => files.has(file) || ts.sys.fileExists(file);
    host.readFile = (file) => files.get(file) ?? ts.sys.readFile(file);
    const program = ts.createProgram([...files.keys()], options, host);
    const faults = [...files].flatMap(([file, code]) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
        ({ messageText }) => `${ts.flattenDiagnosticMessageText(messageText, '\n')} in:\n${code}`,
      );
    });
    expect(faults).toEqual([]);
  });
});
