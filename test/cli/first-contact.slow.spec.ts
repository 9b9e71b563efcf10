import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const URL_OF_README = 'postgresql://plants:password@127.0.0.1:5432/plants';
/** For `npm ci` and the build, on a busy machine. */
const INSTALL_MS = 400_000;
const run = promisify(execFile);

/** The first block of a section of the README, or of what is before the first section. */
async function blockOf(heading: string, language: string): Promise<string> {
  const sections = (await readFile(join(ROOT, 'README.md'), 'utf8')).split('\n## ');
  const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? sections[0];
  return new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(section ?? '')?.[1] ?? '';
}

describe('The README, in a fresh clone', () => {
  const { HOME = '', PATH = '' } = process.env;
  let folder: string;
  let env: Record<string, string>;
  let shell: ChildProcess | undefined;
  let output: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-readme-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
    // What is removed in the working tree, and not committed yet, is listed too.
    for (const name of stdout.trim().split('\n'))
      await cp(join(ROOT, name), join(folder, name), { recursive: true }).catch(() => undefined);
    const PORTS = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
    env = { HOME, PATH, npm_config_prefer_offline: 'true', ...PORTS };
  });
  afterAll(() => rm(folder, { recursive: true }));
  afterEach(() => stop('SIGKILL'));

  const isRunning = (): boolean => shell?.exitCode === null && shell.signalCode === null;
  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (shell?.pid === undefined || !isRunning()) return;
    const ended = once(shell, 'close');
    // As a terminal does at a Ctrl-C: all of its processes get the signal.
    process.kill(-shell.pid, signal);
    await ended;
  }

  /** Runs commands that end with a service, until that has printed something. */
  async function start(script: string, printed: RegExp): Promise<void> {
    shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, detached: true });
    output = '';
    for (const stream of [shell.stdout, shell.stderr]) stream?.on('data', (text) => (output += String(text)));
    await until(() => !isRunning() || printed.test(output), INSTALL_MS);
    expect(isRunning() ? '' : output).toBe('');
  }

  const inShell = async (script: string): Promise<string> =>
    (await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env })).stdout;

  /** Runs the request of the README with that token, and expects the answer of the README. */
  async function create(token: string): Promise<void> {
    const request = (await blockOf('Request and answer', 'sh')).replace('TOKEN=…', `TOKEN=${token}`);
    const answer = await inShell(request.replace('localhost:3000', `127.0.0.1:${env.PORT ?? ''}`));
    expect(JSON.parse(answer)).toEqual(JSON.parse(await blockOf('Request and answer', 'json')));
  }

  it(
    'should start by its first line, and print all that a first plant needs',
    async () => {
      expect(await blockOf('', 'sh')).toMatch(/^npm ci && npm start +# .*\nnpm ci && npm test +# .*\n$/);
      await start('npm ci && npm start', /^psql .*\n$/m);
      expect(output).toContain('Building …');
      const token = (await readFile(join(folder, '.data/access-token'), 'utf8')).trim();
      const url = `http://127.0.0.1:${env.PORT ?? ''}`;
      const lines = [
        `  Plants  ${url}/plants`,
        `  Docs    ${url}/docs#token=${token}`,
        'psql "$(cat .data/database-url)"',
      ];
      expect(output.split('\n')).toEqual(expect.arrayContaining(lines));
      expect(output.split(token)).toHaveLength(3);
      const curl = /^curl .*$/m.exec(output)?.[0] ?? '';
      expect(await inShell(curl)).toBe('{"name":"Rose","tag":"flower"}');
      for (const name of ['access-token', 'database-url'])
        expect((await stat(join(folder, '.data', name))).mode & 0o777).toBe(0o600);
      await create(token);

      await stop('SIGINT');
      expect(output.match(/Stopping;/g)).toHaveLength(1);
      // The same token and plants, and no other build.
      await start('npm start', /^curl .*$/m);
      expect(output).not.toContain('Building');
      expect(await inShell(curl)).toMatch('"error":40901');
      // npm alone gets the signal of a service manager, and passes it on.
      shell?.kill('SIGTERM');
      await until(() => output.includes('Stopped after'));
    },
    2 * INSTALL_MS,
  );

  it(
    'should serve each change in watch mode, with the same token and plants, and live on after a syntax error',
    async () => {
      const file = join(folder, 'src/config/package-files.ts');
      const source = await readFile(file, 'utf8');
      const starts = (): number => output.match(/Listening on/g)?.length ?? 0;
      await start('npm run start:dev', /^curl .*$/m);
      await writeFile(file, `${source}\nconst broken = ;\n`);
      await until(() => /error.*TS1109/.test(output));
      await writeFile(file, source.replace(').version;', ").version + '-changed';"));
      await until(() => /Plant Store [\d.]+-changed/.test(output) && starts() === 2);
      await until(() => output.split('\ncurl ').length === 3);
      const [, second = ''] = output.match(/^curl .*$/gm) ?? [];
      expect(second).toContain((await readFile(join(folder, '.data/access-token'), 'utf8')).trim());
      expect(await inShell(second)).toBe('{"name":"Rose","tag":"flower"}');
      await stop('SIGINT');
      await writeFile(file, source);
    },
    2 * INSTALL_MS,
  );

  it(
    "should run on a database of one's own, built anew from what has changed; npm start with the variables of .env",
    async () => {
      // The role and the database are those of the README, but for their names: other tests use the server at the same time.
      const name = `readme_${process.pid}`;
      const rename = (text: string): string => text.replace(/(ROLE|OWNER|DATABASE) plants/g, `$1 ${name}`);
      const database = await createTestDatabase({ migrated: false });
      const sql = rename(await blockOf('Run it on your database', 'sql'));
      for (const statement of sql.trim().split('\n')) await database.query(statement);
      const url = `postgresql://${name}:password@${new URL(database.url).host}/${name}`;
      const commands = await blockOf('Run it on your database', 'sh');
      expect(commands).toContain(URL_OF_README);
      await appendFile(join(folder, 'src/main.ts'), '// changed\n');
      try {
        // Its packages are installed already.
        await start(commands.replace(URL_OF_README, url).replace('npm ci\n', ''), /Listening on .*:\d+\/plants/);
        expect(output.match(/Building …/g)).toHaveLength(1);
        await create(/^plant_\w+$/m.exec(output)?.[0] ?? '');
        await stop('SIGTERM');
        await writeFile(join(folder, '.env'), 'BASE_PATH=/garden\nPORT=1\n');
        await start(`export DATABASE_URL=${url}\nnpm start`, /Listening on .*:\d+\/garden\/plants/);
      } finally {
        await stop('SIGKILL');
        await database.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        await database.query(`DROP ROLE IF EXISTS ${name}`);
        await database.drop();
      }
    },
    2 * INSTALL_MS,
  );
});
