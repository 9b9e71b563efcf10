import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdtemp, readFile, rm } from 'node:fs/promises';
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

/** The blocks of a section of the README, or of what is before the first one. */
async function blocksOf(heading: string | undefined, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8');
  const section = heading === undefined ? text : (text.split(`\n## ${heading}\n`)[1] ?? '');
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
}

/** A folder with what a fresh clone of the working tree has. */
async function cloneHere(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-readme-'));
  // Or root's server, which runs as another user, would have its data outside of it.
  await chmod(folder, 0o755);
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const name of stdout.trim().split('\n'))
    await cp(join(ROOT, name), join(folder, name), { recursive: true }).catch((error: unknown) => {
      // Removed in the working tree, and not committed yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
  return folder;
}

describe('README', () => {
  const { HOME = '', PATH = '' } = process.env;
  let folder: string;
  let ports: { PORT: string; MANAGEMENT_PORT: string };
  let shell: ChildProcess | undefined;
  let output: string;

  beforeAll(async () => {
    folder = await cloneHere();
    ports = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
  });
  afterAll(() => rm(folder, { recursive: true }));
  afterEach(stop);

  const isRunning = (): boolean => shell?.exitCode === null && shell.signalCode === null;

  async function stop(): Promise<void> {
    if (shell?.pid === undefined || !isRunning()) return;
    const ended = once(shell, 'close');
    process.kill(-shell.pid, 'SIGTERM');
    await ended;
  }

  /** Runs commands that end with a service, until it listens. */
  async function start(script: string): Promise<void> {
    const env = { HOME, PATH, ...ports, npm_config_prefer_offline: 'true' };
    shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, detached: true });
    output = '';
    for (const stream of [shell.stdout, shell.stderr]) stream?.on('data', (text) => (output += String(text)));
    await until(() => !isRunning() || output.includes('Listening on'), INSTALL_MS);
    expect(isRunning() ? '' : output).toBe('');
  }

  /** Runs the request of the README with that token, and expects the answer of the README. */
  async function create(token: string): Promise<void> {
    const [request = ''] = await blocksOf('Request and answer', 'sh');
    const [answer = ''] = await blocksOf('Request and answer', 'json');
    expect(request).toContain('TOKEN=…\n');
    const script = request.replace('…', token).replace('localhost:3000', `127.0.0.1:${ports.PORT}`);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual(JSON.parse(answer));
  }

  it(
    'should start in a fresh clone, and create the plant of "Request and answer" with the token that it prints',
    async () => {
      const [commands = ''] = await blocksOf(undefined, 'sh');
      expect(commands).toBe('npm ci && npm start\n');
      await start(commands);
      await until(() => output.includes('Authorization: Bearer '));
      await create(/Authorization: Bearer ([\w-]+)/.exec(output)?.[1] ?? '');
    },
    2 * INSTALL_MS,
  );

  it(
    "should run on a database of one's own, which is empty and belongs to the role",
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
      try {
        await start(rename(commands.replace(literal, `postgresql://plants:password@${server.host}/${name}`)));
        await create(/^plant_\w+$/m.exec(output)?.[0] ?? '');
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
