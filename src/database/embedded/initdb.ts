import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import type { PostgresPrograms } from './postgres-programs.js';
import { serverEnvironment } from './server-environment.js';
import { commandLine } from './server-process.js';
import type { ServerUser } from './server-user.js';

/** A folder in which initdb works; `data` is whole once `run` has returned. */
export class Initdb {
  readonly data: string;
  private readonly processFile: string;
  private readonly outputFile: string;

  constructor(private readonly folder: string) {
    this.data = join(folder, 'data');
    this.processFile = join(folder, 'pid');
    this.outputFile = join(folder, 'output');
  }

  async run(programs: PostgresPrograms, user: ServerUser, password: string): Promise<void> {
    const passwordFile = join(this.folder, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    await user.own(passwordFile);
    // The encoding and the order of texts are PostgreSQL's own: none is needed of the system.
    const encoding = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
    const code = await this.spawn(
      programs.initdb,
      [`--pgdata=${this.data}`, ...encoding, ...access, '--no-instructions'],
      user,
    );
    if (code === 0) return;
    const output = (await readFile(this.outputFile, 'utf8')).trim().split('\n').slice(-5);
    throw new EmbeddedPostgresError(`initdb failed with code ${String(code)}:\n${output.join('\n')}`);
  }

  /** Ends what a killed owner has left at work, then removes the folder. What cannot be removed hinders nobody. */
  async discard(): Promise<void> {
    const pid = Number(await readFile(this.processFile, 'utf8').catch(() => ''));
    if (pid > 0 && (await commandLine(pid).catch(() => '')).includes(this.folder)) {
      try {
        process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 }).catch(() => undefined);
  }

  private async spawn(program: string, args: string[], user: ServerUser): Promise<number | null> {
    const output = await open(this.outputFile, 'w', 0o600);
    try {
      const child = spawn(program, args, {
        ...user.ids,
        cwd: this.folder,
        env: serverEnvironment(),
        stdio: ['ignore', output.fd, output.fd],
        windowsHide: true,
        // A group of its own, so that all of its processes can be ended together.
        detached: true,
      });
      const note = writeFile(this.processFile, String(child.pid ?? ''));
      const [[code]] = (await Promise.all([once(child, 'exit'), note])) as [[number | null], unknown];
      return code;
    } finally {
      await output.close();
      await rm(this.processFile, { force: true });
    }
  }
}
