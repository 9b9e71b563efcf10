import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StartedTarget } from '../contract/contract-target.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { blocksIn, ROOT } from '../support/documents/documents.js';
import { connectTo, TOKEN } from '../support/http/request.js';
import { PlantStoreProcess, type ProcessOptions } from '../support/service/process.js';

/** Less than a test may take, so that the test fails by this and leaves nothing running. */
export const LIMIT_MS = 150_000;
export const INSTALL_LIMIT_MS = 400_000;
export const INSTALL = 'npm install --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel error';

export const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  isolatedModules: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  outDir: './dist',
  rootDir: './src',
  types: ['node', 'jest'],
};

/** Runs a command to its end in a folder, and returns its output. Fails, with all of it, if its exit code is not 0. */
export async function run(cwd: string, command: string, variables = {}, timeout = LIMIT_MS): Promise<string> {
  const [program = '', ...args] = command.split(' ');
  const running = promisify(execFile)(program, args, { cwd, env: { ...process.env, ...variables }, timeout });
  const { stdout } = await running.catch((failure: unknown) => {
    // The message has what it printed as errors. tsc prints those elsewhere.
    const { message, stdout: printed } = failure as Error & { stdout: string };
    throw new Error(`${message}\n${printed}`, { cause: failure });
  });
  return stdout;
}

/** A new folder with the packed store and nothing else of the checkout. */
export async function packStore(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'plant-store-packed-'));
  await run(ROOT, `npm pack --silent --ignore-scripts --pack-destination ${root}`);
  return root;
}

/** The one block of code in the page for hosts that has these words. */
export function documentedCode(language: string, words: string): string {
  const ofHosts = blocksIn(language).filter(({ page }) => page === 'docs/embedding.md');
  const blocks = ofHosts.filter(({ code }) => code.includes(words));
  if (blocks.length !== 1) throw new Error(`${blocks.length} blocks of code have ${words}.`);
  return blocks[0]?.code ?? '';
}

/** A program of a host in its own process, as a target of the contract. It has to end well at a signal. */
export async function startProgram(
  script: string,
  basePath: string,
  { variables, ...options }: ProcessOptions = {},
): Promise<StartedTarget & { readonly program: PlantStoreProcess }> {
  const database = await createTestDatabase({ migrated: basePath !== '' });
  const all = { DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN, PORT: '0', ...variables };
  const program = await new PlantStoreProcess([], { ...options, script, variables: all }).listening();
  return {
    ...connectTo(program.port, basePath),
    errorStatus: 'contract',
    database,
    program,
    stop: async () => {
      program.signal('SIGTERM');
      const code = await program.ended;
      await database.drop();
      if (code !== 0) throw new Error(`The host ended with ${code}:\n${program.output}`);
    },
  };
}
