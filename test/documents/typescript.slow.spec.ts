import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { blocksIn, ROOT } from './pages.js';

/** What the blocks take from elsewhere: packages, and things of the reader. */
const PACKAGES = {
  '@nestjs/common': 'Injectable, Module',
  '@nestjs/core': 'NestFactory',
  '@nestjs/testing': 'Test',
  'plant-store':
    'BearerAuthGuard, exemptPlantsFromBodyParser, NewPlant, PlantsAuthModule, PlantsModule, PlantsService, Principal, TokenVerifier',
};
const READERS = {
  ACCESS_TOKEN: 'const ACCESS_TOKEN: string',
  AppModule: 'class AppModule {}',
  Config: 'interface Config { transform: object; transformIgnorePatterns: string[] }',
  DATABASE_URL: 'const DATABASE_URL: string',
  HealthController: 'class HealthController {}',
  plants: 'const plants: PlantsService',
  prisma: `const prisma: { $transaction<T>(work: (transaction: {
    $queryRawUnsafe<R>(sql: string, ...values: unknown[]): Promise<R>; order: { create(order: object): Promise<unknown> };
  }) => Promise<T>): Promise<T> }`,
  SessionsService: 'class SessionsService { find(token: string): Promise<{ user: string } | undefined> }',
};

function moduleOf(code: string): string {
  if (code.startsWith('import ')) return code;
  const imports = Object.entries(PACKAGES).map(([name, what]) => `import { ${what} } from '${name}';`);
  const declared = Object.entries(READERS)
    .filter(([name]) => !code.includes(`class ${name} `))
    .map(([, text]) => `declare ${text};`);
  return [...imports, ...declared, code].join('\n');
}

const messageOf = ({ messageText }: ts.Diagnostic): string => ts.flattenDiagnosticMessageText(messageText, '\n');

describe('The TypeScript of the pages', () => {
  it('should compile', () => {
    const files = new Map(
      blocksIn('ts').map(({ page, code }, at) => [`${ROOT}${at}-${page.replace('/', '-')}.mts`, moduleOf(code)]),
    );
    expect(files.size).toBeGreaterThan(5);
    const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile.bind(ts.sys)) as { config: object };
    const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, ROOT);
    options.paths = { 'plant-store': [`${ROOT}src/index.ts`] };
    const host = ts.createCompilerHost(options);
    host.fileExists = (file) => files.has(file) || ts.sys.fileExists(file);
    host.readFile = (file) => files.get(file) ?? ts.sys.readFile(file);
    const program = ts.createProgram([...files.keys()], options, host);
    const faults = [...files.keys()].flatMap((file) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
        (fault) => `${file}: ${messageOf(fault)}`,
      );
    });
    expect(faults).toEqual([]);
  });
});
