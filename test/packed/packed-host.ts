import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { StartedTarget } from '../contract/contract-target.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { blocksIn, ROOT } from '../documents/pages.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo } from '../support/service/store.js';

/** Less than a slow test may take, so that the test fails by this and leaves nothing running. */
const LIMIT_MS = 150_000;
/** Milliseconds that it may take to install a host, and to build it too. */
const NPM_LIMIT_MS = 400_000;
export const INSTALL_LIMIT_MS = NPM_LIMIT_MS + 100_000;

const SETTINGS = {
  module: 'nodenext',
  target: 'es2023',
  esModuleInterop: true,
  isolatedModules: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  outDir: './dist',
  rootDir: './src',
  types: ['node', 'jest'],
};

/** A folder with the packed store and nothing else of the checkout, in which a host is installed and built as anybody would do it. */
export class PackedHost implements AsyncDisposable {
  private constructor(
    /** Where the package file is. */
    readonly root: string,
    readonly folder: string,
  ) {}

  static async empty(name = 'host'): Promise<PackedHost> {
    const root = await mkdtemp(join(tmpdir(), 'plant-store-packed-'));
    await runCommand(ROOT, `npm pack --silent --ignore-scripts --pack-destination ${root}`);
    return new PackedHost(root, join(root, name));
  }

  /** Makes the one host of the suites here, in CommonJS as `nest new` makes it, with these packages. */
  async install(dependencies: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(this.path('src'), { recursive: true });
    await this.write('package.json', JSON.stringify({ private: true, type: 'commonjs', dependencies }));
    const project = { compilerOptions: SETTINGS, include: ['src'], exclude: ['**/*.spec.ts'] };
    await this.write('tsconfig.json', JSON.stringify(project));
    const sources = fileURLToPath(new URL('host', import.meta.url));
    for (const name of await readdir(sources))
      await this.writeSource(name, await readFile(join(sources, name), 'utf8'));
    await this.writeSource('smallest-host.ts', documentedCode('ts', 'new Migrator(database).migrate()', 'void main()'));
    await this.npmInstall();
    await this.run('npx --no-install tsc');
  }

  /** Copies a project into the folder, and installs it. */
  async installCopy(project: string): Promise<void> {
    const filter = (path: string): boolean => !/\/(?:node_modules|dist)(?:\/|$)/.test(path.slice(ROOT.length));
    await cp(join(ROOT, project), this.folder, { recursive: true, filter });
    await this.npmInstall();
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.path(name), text);
  }

  run(command: string, variables: Record<string, string> = {}): Promise<void> {
    return runCommand(this.folder, command, variables);
  }

  /** Compiles a file of each kind of modules that imports the package, under the strictest settings. */
  async compileStrictly(settings: object): Promise<void> {
    // Nest's own declarations need those of Node.
    const given = { target: 'es2023', types: ['node'], strict: true, exactOptionalPropertyTypes: true, noEmit: true };
    const files = ['strict.mts', 'strict.cts'];
    for (const file of files) await this.write(file, `export * from 'plant-store';\n`);
    await this.write('tsconfig.strict.json', JSON.stringify({ compilerOptions: { ...given, ...settings }, files }));
    await this.run('npx --no-install tsc -p tsconfig.strict.json');
  }

  private npmInstall(): Promise<void> {
    const command = 'npm install --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel error';
    return runCommand(this.folder, command, {}, NPM_LIMIT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true });
  }

  /** `nest new` writes its imports without the extension, and Jest finds no others. */
  private writeSource(name: string, source: string): Promise<void> {
    return this.write(`src/${name}`, source.replace(/(from '\.[^']*)\.js'/g, "$1'"));
  }
}

/** A program of a host in a process of its own, as a target of the contract. It has to end well when it gets a signal. */
export async function startProgram(
  script: string,
  basePath: string,
  variables: Record<string, string> = {},
): Promise<StartedTarget> {
  const database = await createTestDatabase({ migrated: basePath !== '' });
  const common = { DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN, PORT: '0' };
  const program = await new PlantStoreProcess([], { script, variables: { ...common, ...variables } }).listening();
  return {
    ...connectTo(program.port, basePath),
    errorStatus: 'contract',
    database,
    stop: async () => {
      program.signal('SIGTERM');
      const code = await program.ended;
      await database.drop();
      if (code !== 0) throw new Error(`The host ended with ${code}:\n${program.output}`);
    },
  };
}

/** Runs a command to its end in a folder. Fails, with all that was printed, if its exit code is not 0. */
async function runCommand(
  cwd: string,
  command: string,
  variables: Record<string, string> = {},
  timeout = LIMIT_MS,
): Promise<void> {
  const [program = '', ...args] = command.split(' ');
  const running = promisify(execFile)(program, args, { cwd, env: { ...process.env, ...variables }, timeout });
  await running.catch((failure: unknown) => {
    // The message has what it printed as errors. tsc prints those elsewhere.
    const { message, stdout } = failure as Error & { stdout: string };
    throw new Error(`${message}\n${stdout}`, { cause: failure });
  });
}

/** The one block of code in the page for hosts that has these words. */
export function documentedCode(language: string, ...words: string[]): string {
  const [block, ...others] = blocksIn(language).filter(
    ({ page, code }) => page === 'docs/embedding.md' && words.every((each) => code.includes(each)),
  );
  if (block === undefined || others.length > 0) throw new Error(`Not one block of code has ${words.join(' and ')}.`);
  return block.code;
}
