import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { StartedTarget } from '../contract/contract-target.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo } from '../support/service/store.js';
import type { Platform } from '../support/host/host.js';

/** Less than a slow test may take, so that the test fails by this and leaves nothing running. */
const LIMIT_MS = 150_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Milliseconds that it may take to install a host, and to build it too. */
const NPM_LIMIT_MS = 400_000;
export const INSTALL_LIMIT_MS = NPM_LIMIT_MS + 100_000;

/** A host as `nest new` makes it, in CommonJS. */
export interface Layout {
  readonly platforms: readonly Platform[];
  /** How a strict consumer resolves the package. */
  readonly resolutions: readonly object[];
  readonly packages: Readonly<Record<string, string>>;
}

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
const ADAPTERS = {
  express: ['ExpressAdapter', '@nestjs/platform-express'],
  fastify: ['FastifyAdapter', '@nestjs/platform-fastify'],
} as const;

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

  /** Makes the one host of the suites here, with these packages. */
  async install({ platforms, packages }: Layout): Promise<void> {
    await mkdir(this.path('src'), { recursive: true });
    await this.write('package.json', JSON.stringify({ private: true, type: 'commonjs', dependencies: packages }));
    const project = { compilerOptions: SETTINGS, include: ['src'], exclude: ['**/*.spec.ts'] };
    await this.write('tsconfig.json', JSON.stringify(project));
    const sources = fileURLToPath(new URL('host', import.meta.url));
    for (const name of await readdir(sources))
      await this.writeSource(name, await readFile(join(sources, name), 'utf8'));
    const imports = platforms.map((each) => `import { ${ADAPTERS[each][0]} } from '${ADAPTERS[each][1]}';\n`);
    const makers = platforms.map((each) => `${each}: () => new ${ADAPTERS[each][0]}()`);
    await this.writeSource(
      'adapters.ts',
      `${imports.join('')}export const ADAPTERS: Record<string, () => any> = { ${makers.join()} };\n`,
    );
    await this.writeSource('smallest-host.ts', await documentedCode('new Migrator(database).migrate()', 'void main()'));
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
export async function runCommand(
  cwd: string,
  command: string,
  variables: Record<string, string> = {},
  limitMs = LIMIT_MS,
): Promise<void> {
  const [program = '', ...args] = command.split(' ');
  // A process group of its own: npm does not end what it runs when it is ended itself.
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  try {
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (child.exitCode === 0) return;
    const end = child.exitCode ?? child.signalCode ?? 'nothing';
    throw new Error(`\`${command}\` ended with ${end}:\n${output}${errors}`);
  } finally {
    clearTimeout(limit);
  }
}

/** The one block of code in the pages for hosts that has these words. */
export async function documentedCode(...words: string[]): Promise<string> {
  const folder = join(ROOT, 'docs');
  const pages = (await readdir(folder)).filter((name) => /^embedding.*\.md$/.test(name));
  const texts = await Promise.all(pages.map((name) => readFile(join(folder, name), 'utf8')));
  const blocks = texts.flatMap((text) => [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, code = '']) => code));
  const [block, ...others] = blocks.filter((code) => words.every((each) => code.includes(each)));
  if (block === undefined || others.length > 0) throw new Error(`Not one block of code has ${words.join(' and ')}.`);
  return block;
}
