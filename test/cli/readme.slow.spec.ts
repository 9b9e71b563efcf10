import { afterEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** For `npm ci` and the build, on a busy machine. */
const INSTALL_MS = 200_000;
const run = promisify(execFile);

/** The blocks of a section of the README, without their comments. */
async function blocksOf(heading: string, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
}

describe('README, "Run it on your database"', () => {
  let folder: string | undefined;
  let shell: ChildProcess | undefined;

  const isRunning = (): boolean => shell?.exitCode === null && shell.signalCode === null;

  async function stop(): Promise<void> {
    if (shell?.pid === undefined || !isRunning()) return;
    const ended = once(shell, 'close');
    process.kill(-shell.pid, 'SIGTERM');
    await ended;
  }

  afterEach(async () => {
    await stop();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  /** What a fresh clone of the working tree has. */
  async function clone(): Promise<string> {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-readme-'));
    const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
    for (const name of stdout.trim().split('\n'))
      await cp(join(ROOT, name), join(folder, name), { recursive: true }).catch((error: unknown) => {
        // Removed in the working tree, and not committed yet.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      });
    return folder;
  }

  it(
    'should run word for word in a fresh clone, on an empty database of a role that owns it',
    async () => {
      const [sql = ''] = await blocksOf('Run it on your database', 'sql');
      const [commands = ''] = await blocksOf('Run it on your database', 'sh');
      // The role and the database are those of the documents, but for their names: other tests use the server at the same time.
      const name = `readme_${process.pid}`;
      const rename = (text: string): string =>
        text
          .replace(/ROLE plants|OWNER plants|DATABASE plants/g, (words) => words.replace('plants', name))
          .replace('postgresql://plants:', `postgresql://${name}:`);
      const database = await createTestDatabase({ migrated: false });
      for (const statement of rename(sql).trim().split('\n')) await database.query(statement);
      const server = new URL(database.url);
      const literal = 'postgresql://plants:password@127.0.0.1:5432/plants';
      expect(commands).toContain(literal);
      const [port, management] = [String(await freePort()), String(await freePort())];
      try {
        const cwd = await clone();
        const script = rename(commands.replace(literal, `postgresql://plants:password@${server.host}/${name}`));
        const { HOME = '', PATH = '' } = process.env;
        const env = { HOME, PATH, PORT: port, MANAGEMENT_PORT: management, npm_config_prefer_offline: 'true' };
        shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd, env, detached: true });
        let output = '';
        for (const stream of [shell.stdout, shell.stderr]) stream?.on('data', (text) => (output += String(text)));
        await until(() => !isRunning() || output.includes('Listening on'), INSTALL_MS);
        expect(isRunning() ? '' : output).toBe('');
        const [token = ''] = /^plant_\w+$/m.exec(output) ?? [];
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
        const init = { method: 'POST', headers, body: '{"id": 9007199254740993, "name": "Rose"}' };
        const response = await fetch(`http://127.0.0.1:${port}/plants`, init);
        expect([response.status, await response.json()]).toEqual([200, { name: 'Rose' }]);
        await stop();
      } finally {
        await database.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        await database.query(`DROP ROLE IF EXISTS ${name}`);
        await database.drop();
      }
    },
    2 * INSTALL_MS,
  );
});
