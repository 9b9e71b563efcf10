import { beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DECLARATIONS = join(ROOT, 'dist/index.d.ts');

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

interface Export {
  readonly name: string;
  readonly text: string;
  readonly examples: readonly string[];
}

function readExports(): Export[] {
  const program = ts.createProgram([DECLARATIONS], OPTIONS);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(DECLARATIONS);
  const index = source && checker.getSymbolAtLocation(source);
  return (index ? checker.getExportsOfModule(index) : []).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const described = [target, ...(target.members?.values() ?? [])];
    const tags = described.flatMap((one) => one.getJsDocTags(checker)).filter(({ name }) => name === 'example');
    return {
      name: symbol.name,
      text: ts.displayPartsToString(target.getDocumentationComment(checker)),
      // Without the fence of the pages.
      examples: tags.map(({ text }) => ts.displayPartsToString(text).replace(/^```ts\n|\n```$/g, '')),
    };
  });
}

describe('plant-store', () => {
  let exported: Export[];

  beforeAll(() => {
    exported = readExports();
  });

  it('should export the names of the design, and nothing else', () => {
    expect(exported.map(({ name }) => name).sort()).toEqual(NAMES);
  });

  it('should explain each of them, with an example that uses it', () => {
    const examples = exported.flatMap((one) => one.examples).join('\n');
    const missing = exported.filter(
      ({ name, text }) => text.length < 20 || !new RegExp(`\\b${name}\\b`).test(examples),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  it('should have examples that compile', async () => {
    // Within the checkout, so that an example finds the packages that it imports, and this one by its name.
    const folder = await mkdtemp(join(ROOT, 'node_modules/.examples-'));
    try {
      const files = exported
        .flatMap((one) => one.examples)
        .map((text, at) => [join(folder, `${at}.mts`), text] as const);
      for (const [file, text] of files) await writeFile(file, `${text}\nexport {};\n`);
      const paths = { 'plant-store': [join(ROOT, 'dist/index.d.mts')] };
      const program = ts.createProgram(
        files.map(([file]) => file),
        { ...OPTIONS, paths },
      );
      const faults = ts.getPreEmitDiagnostics(program);
      expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
      expect(files.length).toBeGreaterThan(5);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
