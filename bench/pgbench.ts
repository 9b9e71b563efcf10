import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type LoadResult, loadResult, type LoadRun } from './load.js';

const run = promisify(execFile);

/** It takes whole seconds, or a number of transactions. With so many it takes about as long as it should. */
const TRANSACTIONS_A_SECOND = 10_000;

/** Each client has ids of its own. */
const SCRIPT = `\\set count :count + 1
\\set id :first + :client_id * 10000000 + :count
INSERT INTO plants (id, name, tag) VALUES (:id, 'Rose', 'flower');
`;

/** PostgreSQL's own benchmark: each client inserts one plant after the other, by a prepared statement, each in a commit of its own. */
export class Pgbench {
  private constructor(private readonly program: string) {}

  /** Undefined if it is not installed: the embedded PostgreSQL comes without it. */
  static async find(): Promise<Pgbench | undefined> {
    const folders = (process.env.PATH ?? '').split(delimiter);
    const debian = '/usr/lib/postgresql';
    const versions = await readdir(debian).catch(() => []);
    const newestFirst = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, 'bin'));
    const program = [...newestFirst, ...folders]
      .map((folder) => join(folder, 'pgbench'))
      .find((path) => existsSync(path));
    return program === undefined ? undefined : new Pgbench(program);
  }

  async run(databaseUrl: string, { connections, seconds, firstId, signal }: LoadRun): Promise<LoadResult> {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-pgbench-'));
    try {
      const script = join(folder, 'insert.sql');
      const log = join(folder, 'log');
      await writeFile(script, SCRIPT);
      const variables = ['-D', 'count=0', '-D', `first=${firstId}`];
      const transactions = Math.ceil((seconds * TRANSACTIONS_A_SECOND) / connections);
      const options = ['-n', '-M', 'prepared', '-c', String(connections), '-j', '1', '-t', String(transactions)];
      const { stdout } = await run(this.program, [...options, ...variables, '-f', script, '-l', '--log-prefix', log], {
        env: { ...process.env, ...connectionVariables(databaseUrl) },
        signal,
      });
      const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
      const failures = Number(/^number of failed transactions: (\d+)/m.exec(stdout)?.[1] ?? 0);
      if (failures > 0) throw new Error(`${failures} transactions failed`);
      const latencies = await readLatencies(folder);
      return loadResult(latencies, latencies.length / perSecond);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** As variables, because everybody on a machine can read the arguments of a process. */
function connectionVariables(databaseUrl: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
    PGSSLMODE: 'disable',
  };
}

/** Milliseconds. The third field of each line of the log is in microseconds. */
async function readLatencies(folder: string): Promise<Float64Array> {
  const logs = (await readdir(folder)).filter((name) => name.startsWith('log'));
  const texts = await Promise.all(logs.map((name) => readFile(join(folder, name), 'utf8')));
  const lines = texts
    .join('')
    .split('\n')
    .filter((line) => line !== '');
  return Float64Array.from(lines, (line) => Number(line.split(' ', 3)[2]) / 1000);
}
