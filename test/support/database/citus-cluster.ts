import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from '../../../src/service/embedded-postgres/binaries.js';
import { serverAccount } from '../../../src/service/embedded-postgres/data-directory.js';
import { freePort } from '../http/free-port.js';
import { describeWith } from '../jest/suite.js';
import type { CommandOutcome } from '../service/run-command-line.js';
import { makeFolder, PostgresServer } from './postgres-server.js';
import type { TestDatabase } from './test-database.js';

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
  async distribute(variables: readonly string[] = [], url = this.coordinator.url()): Promise<CommandOutcome> {
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

/**
 * The catalogue of Citus, with its types, and functions that do nothing: enough for the store to send, in an ordinary database, what it
 * sends to a cluster. Superusers only.
 */
export async function createStandInCitus(database: TestDatabase): Promise<void> {
  await database.query(`SET allow_system_table_mods = on;
    SET search_path = pg_catalog;
    CREATE TYPE pg_catalog.noderole AS ENUM ('primary', 'secondary', 'unavailable');
    CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, repmodel "char");
    CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid int8, shardminvalue text);
    CREATE TABLE pg_catalog.pg_dist_placement (shardid int8, shardstate int, groupid int);
    CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole noderole,
      isactive bool, shouldhaveshards bool);
    GRANT SELECT ON pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_node TO PUBLIC;
    CREATE FUNCTION pg_catalog.run_command_on_all_nodes(command text, parallel bool DEFAULT true,
      give_warning_for_connection_errors bool DEFAULT false, OUT nodeid int, OUT success bool, OUT result text)
      RETURNS SETOF record LANGUAGE sql RETURN (1, true, 'on'::text);
    INSERT INTO pg_catalog.pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      VALUES (16000, 'citus', 10, 11, false, '13.2');
    INSERT INTO pg_dist_node VALUES (1, 0, 'coordinator', 5432, 'primary', true, false),
      (2, 1, 'one', 5432, 'primary', true, true), (3, 2, 'two', 5432, 'primary', true, true)`);
}

/** Makes the store take plants for a table of four shards on two nodes. */
export async function pretendDistribution(database: TestDatabase): Promise<void> {
  await database.query(`
    INSERT INTO pg_dist_partition VALUES ('plants', 'h', 'id', 's'), ('access_tokens', 'n', NULL, 't'),
      ('_prisma_migrations', 'n', NULL, 't');
    INSERT INTO pg_dist_shard
      SELECT 'plants', shard, (-2147483648 + shard::bigint * 1073741824)::text FROM generate_series(0, 3) AS shard;
    INSERT INTO pg_dist_placement SELECT shard, 1, 1 + shard % 2 FROM generate_series(0, 3) AS shard`);
}
