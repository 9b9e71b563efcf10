import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
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
  'exemptPlantsFromBodyParser',
];

const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
  experimentalDecorators: true,
};

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

function importedPackages(): string[] {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.spec)\.[cm]?ts$/.test(file),
  );
  const specifiers = sources
    // Types alone are not there when it runs.
    .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8').replace(/^import type [^;]*;/gm, ''))
    .flatMap((text) => ts.preProcessFile(text).importedFiles)
    .map(({ fileName }) => /^(?:@[^/]+\/)?[^/]+/.exec(fileName)?.[0] ?? '');
  return [...new Set(specifiers)].filter((name) => !name.startsWith('.') && !name.startsWith('node:'));
}

describe('The package', () => {
  let folder: string;
  let tarball: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-package-'));
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
    tarball = join(folder, (await readdir(folder))[0] ?? '');
    await run('tar', ['-xzf', tarball, '-C', folder]);
    const entries = await readdir(join(folder, 'package'), { recursive: true, withFileTypes: true });
    files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, 'package/').length));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('should hold the build and what an operator installs, in few files, and nothing else', async () => {
    const others = files.filter((file) => !file.startsWith('dist/'));
    expect(others.filter((file) => !file.startsWith('deploy/systemd/')).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    expect(files.filter((file) => /\.spec\.|node_modules/.test(file))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(120);
    expect((await stat(tarball)).size).toBeLessThan(200_000);
  });

  it('should satisfy publint', async () => {
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
      strict: true,
    });
    expect(messages).toEqual([]);
  });

  it('should have types that are right in every resolution', async () => {
    const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    await run(process.execPath, [attw, tarball, '--profile', 'strict']);
  });

  it('should declare every package that the code imports, and use the libraries that it is known for', async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Record<string, object>;
    const imported = importedPackages();
    expect(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })).toEqual(
      expect.arrayContaining(imported),
    );
    expect(imported).toEqual(expect.arrayContaining(LIBRARIES));
    const commands = Object.values(manifest.scripts ?? {}).join('\n');
    for (const tool of ['prisma', 'jest', 'tsc']) expect(commands).toMatch(new RegExp(`\\b${tool}\\b`));
  });

  it('should export the names of the design and nothing else, with examples that compile', async () => {
    const declarations = join(ROOT, 'dist/index.d.ts');
    const program = ts.createProgram([declarations], OPTIONS);
    const checker = program.getTypeChecker();
    const source = program.getSourceFile(declarations);
    const index = source && checker.getSymbolAtLocation(source);
    const exported = index ? checker.getExportsOfModule(index) : [];
    expect(exported.map(({ name }) => name).sort()).toEqual(NAMES);

    const examples = exported
      .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
      .flatMap((symbol) => [symbol, ...(symbol.members?.values() ?? [])])
      .flatMap((symbol) => symbol.getJsDocTags(checker))
      .filter(({ name }) => name === 'example')
      // Without the fence of the pages.
      .map(({ text }) => ts.displayPartsToString(text).replace(/^```ts\n|\n```$/g, ''));
    expect(examples.length).toBeGreaterThan(5);
    // Within the checkout, so that an example finds the packages that it imports, and this one by its name.
    const place = await mkdtemp(join(ROOT, 'node_modules/.examples-'));
    try {
      const sources = examples.map((_, at) => join(place, `${at}.mts`));
      for (const [at, path] of sources.entries()) await writeFile(path, `${examples[at]}\nexport {};\n`);
      const paths = { 'plant-store': [join(ROOT, 'dist/index.d.mts')] };
      const faults = ts.getPreEmitDiagnostics(ts.createProgram(sources, { ...OPTIONS, paths }));
      expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
    } finally {
      await rm(place, { recursive: true });
    }
  });
});
