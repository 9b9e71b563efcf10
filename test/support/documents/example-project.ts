import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Example, ROOT } from './api-reference.js';

/** As strict as a host may be. */
const COMPILER_OPTIONS = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  // They are checked where the package is.
  skipLibCheck: true,
  outDir: 'built',
};

/** Gives an example what it declares as injected, and ends when it has run, with whatever it has started. */
const RUNNER = `
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { PlantsHealth, PlantsModule, PlantsService } from 'plant-store';

const url = process.env.DATABASE_URL;
const client = new pg.Client(url);
await client.connect();
const app = await NestFactory.create(PlantsModule.forRoot({ database: { url }, guards: 'none' }), { logger: false });
await app.init();
Object.assign(globalThis, { client, health: app.get(PlantsHealth), plants: app.get(PlantsService) });
await import(process.argv[2]);
process.exit(0);
`;

/** Writes the examples into a folder that stands for this package: `plant-store` there is what its `exports` name. */
export async function writeExamples(folder: string, examples: readonly Example[]): Promise<void> {
  await mkdir(folder);
  for (const name of ['package.json', 'node_modules', 'dist']) await symlink(join(ROOT, name), join(folder, name));
  for (const { name, code } of examples) await writeFile(join(folder, `${name}.ts`), `${code}\nexport {};\n`);
  const files = examples.map(({ name }) => `${name}.ts`);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files }));
  await writeFile(join(folder, 'run.mjs'), RUNNER);
}

/** What the compiler says of the examples: nothing, if they are right. */
export async function compileExamples(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder],
    { cwd: folder },
  ).catch((failure: unknown) => failure as { stdout: string });
  return stdout;
}

/** Runs a compiled example, and returns what it has printed. Rejects with its output if it fails. */
export async function runExample(folder: string, { name }: Example, variables: NodeJS.ProcessEnv): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...variables };
  const args = ['--no-warnings', 'run.mjs', `./built/${name}.js`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
  return stdout;
}

/** What the comments behind `console.log(…);` say that an example prints. */
export function expectedOutput({ code }: Example): string[] {
  return [...code.matchAll(/^ *console\.log\(.*\); \/\/ (.+)$/gm)].map(([, text = '']) => text);
}
