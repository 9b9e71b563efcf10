import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from '../../src/service/embedded-postgres/binaries.js';
import { serverAccount } from '../../src/service/embedded-postgres/data-directory.js';
import { freePort } from '../support/http/free-port.js';
import { describeWith } from '../support/jest/suite.js';
import type { CommandOutcome } from '../support/service/run-command-line.js';
import { makeFolder, PostgresServer } from '../support/database/postgres-server.js';

const run = promisify(execFile);

/** Where Debian puts PostgreSQL, for the newest version that has Citus. */
const HOME = ['18', '17', '16', '15']
  .map((version) => `/usr/lib/postgresql/${version}`)
  .find((path) => existsSync(`${path}/lib/citus.so`));
const MISSING = 'there is no PostgreSQL with Citus in /usr/lib/postgresql. Install both (deploy/citus/README.md).';

/** A suite that needs Citus. */
export function describeWithCitus(name: string, suite: () => void): void {
  describeWith(HOME === undefined ? MISSING : undefined, name, suite);
}

/** A server of its own with the database `plants`, to which the superuser needs no password. */
async function createNode(account: Account, home: string): Promise<PostgresServer> {
  const folder = await makeFolder(home, 'node-', account);
  const initdb = ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust', '--no-sync'];
  await run(`${HOME}/bin/initdb`, initdb, { ...account, cwd: folder });
  const settings = {
    shared_preload_libraries: 'citus',
    max_connections: 200,
    max_prepared_transactions: 200,
    // For a move of shards.
    wal_level: 'logical',
    // The log shows what a node was asked for.
    log_line_prefix: '%a ',
    'citus.enable_statistics_collection': 'off',
    'citus.node_conninfo': 'sslmode=disable',
  };
  const installation = { postgres: `${HOME}/bin/postgres`, account, settings };
  const node = new PostgresServer(folder, installation, await freePort());
  await node.start();
  await node.query('CREATE DATABASE plants', 'postgres');
  await node.query('CREATE EXTENSION citus');
  return node;
}

/** A coordinator and workers, each a server of its own on this machine. Nothing is migrated or distributed yet. */
export class CitusCluster implements AsyncDisposable {
  private constructor(
    private readonly folder: string,
    readonly coordinator: PostgresServer,
    readonly workers: readonly PostgresServer[],
  ) {}

  static async start(): Promise<CitusCluster> {
    if (HOME === undefined) throw new Error(MISSING);
    const account = await serverAccount();
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-citus-'));
    // The servers run as another user than root.
    await chmod(folder, 0o711);
    const nodes = Array.from({ length: 3 }, () => createNode(account, folder));
    const [coordinator, ...workers] = (await Promise.all(nodes)) as [PostgresServer, ...PostgresServer[]];
    await coordinator.query(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of workers) await coordinator.query(`SELECT citus_add_node('127.0.0.1', ${port})`);
    return new CitusCluster(folder, coordinator, workers);
  }

  get nodes(): readonly PostgresServer[] {
    return [this.coordinator, ...this.workers];
  }

  /** Runs `deploy/citus/distribute.sql` with these variables of psql. */
  async distribute(variables: readonly string[], url: string): Promise<CommandOutcome> {
    const args = variables.flatMap((variable) => ['-v', variable]);
    try {
      const { stdout, stderr } = await run('psql', ['-X', ...args, '-f', 'deploy/citus/distribute.sql', url]);
      return { code: 0, stdout, stderr };
    } catch (error) {
      return error as CommandOutcome;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
