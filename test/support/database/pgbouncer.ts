import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accepts, freePort } from '../http/free-port.js';
import { describeWith } from '../jest/describe-with.js';
import { until } from '../until.js';

const USUAL_PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'];
const MISSING = 'there is no PgBouncer in the usual places. Install one (on Debian: apt-get install pgbouncer).';
/** PgBouncer does not run as root. */
const NOBODY = 65534;
/** Ends PgBouncer when its standard input closes, as it does too when this process is killed. */
const SCRIPT = '"$0" -q "$1" & cat >/dev/null; kill $!; wait $!';

/** A suite that needs PgBouncer. */
export function describeWithPgBouncer(name: string, suite: () => void): void {
  describeWith(executable() === undefined ? MISSING : undefined, name, suite);
}

/** A PgBouncer in front of the server of a database, with its default settings but for these. */
export class PgBouncer implements AsyncDisposable {
  private constructor(
    private readonly port: number,
    private readonly end: () => Promise<void>,
  ) {}

  /** @param url of any database on the server; its user and password are those of every client */
  static async start(url: string, settings: Record<string, string>): Promise<PgBouncer> {
    const { hostname, port, username, password } = new URL(url);
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-pgbouncer-'));
    const listenPort = await freePort();
    const users = join(folder, 'users.txt');
    const configuration = join(folder, 'pgbouncer.ini');
    const lines = {
      listen_addr: '127.0.0.1',
      listen_port: String(listenPort),
      unix_socket_dir: '',
      auth_type: 'trust',
      auth_file: users,
      ...settings,
    };
    await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
    await writeFile(
      configuration,
      [
        '[databases]',
        `* = host=${hostname} port=${port || '5432'}`,
        '[pgbouncer]',
        ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
      ].join('\n'),
    );
    const isRoot = process.getuid?.() === 0;
    if (isRoot) for (const path of [folder, users, configuration]) await chown(path, NOBODY, NOBODY);
    const child = spawn('/bin/sh', ['-c', SCRIPT, executable() ?? 'pgbouncer', configuration], {
      stdio: ['pipe', 'ignore', 'inherit'],
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    });
    const ended = once(child, 'exit');
    await until(() => accepts(listenPort));
    return new PgBouncer(listenPort, async () => {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    });
  }

  /** The URL of the same database through the pooler, with these parameters in addition. */
  urlOf(url: string, parameters: Record<string, string> = {}): string {
    const pooled = new URL(url);
    pooled.host = `127.0.0.1:${this.port}`;
    for (const [name, value] of Object.entries(parameters)) pooled.searchParams.set(name, value);
    return pooled.href;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}

function executable(): string | undefined {
  return USUAL_PLACES.find((path) => existsSync(path));
}
