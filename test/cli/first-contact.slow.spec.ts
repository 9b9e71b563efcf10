import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { read, ROOT } from '../support/documents/documents.js';
import { freePort } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const URL_OF_README = 'postgresql://plants:password@127.0.0.1:5432/plants';
/** For `npm ci` and the build, on a busy machine. */
const INSTALL_MS = 400_000;
const run = promisify(execFile);
jest.setTimeout(2 * INSTALL_MS);

/** The first block of a section of the README, or of what is before the first section. */
function blockOf(heading: string, language: string): string {
  const sections = read('README.md').split('\n## ');
  const section = sections.find((text) => text.startsWith(`${heading}\n`)) ?? sections[0];
  return new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(section ?? '')?.[1] ?? '';
}

describe('The README, in a fresh clone', () => {
  const { HOME = '', PATH = '' } = process.env;
  let folder: string;
  let env: Record<string, string>;
  let shell: PlantStoreProcess | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-readme-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    const files = 'git ls-files --cached --others --exclude-standard -z';
    // What is removed in the working tree, and not committed yet, is listed too: tar warns of it.
    await run('bash', ['-c', `${files} | tar -c --null -T - | tar -x -C '${folder}'`], { cwd: ROOT });
    const PORTS = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
    env = { HOME, PATH, npm_config_prefer_offline: 'true', ...PORTS };
  });
  afterAll(() => rm(folder, { recursive: true }));
  afterEach(() => stop('SIGKILL'));

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (!shell?.isRunning) return;
    // As a terminal does at a Ctrl-C: all of its processes get the signal.
    process.kill(-shell.pid, signal);
    await shell.ended;
  }

  /** Runs commands, the last of which is a service, until it has printed this. Returns them, with their output. */
  async function start(script: string, printed: RegExp): Promise<PlantStoreProcess> {
    const options = { program: 'bash', cwd: folder, variables: env, detached: true };
    shell = new PlantStoreProcess(['-euo', 'pipefail', '-c', script], options);
    await shell.printed(printed);
    return shell;
  }

  const inShell = async (script: string): Promise<string> =>
    (await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env })).stdout;

  /** Runs the request of the README with that token, and expects the answer of the README. */
  async function create(token: string): Promise<void> {
    const request = blockOf('Request and answer', 'sh').replace('TOKEN=…', `TOKEN=${token}`);
    const answer = await inShell(request.replace('localhost:3000', `127.0.0.1:${env.PORT ?? ''}`));
    expect(JSON.parse(answer)).toEqual(JSON.parse(blockOf('Request and answer', 'json')));
  }

  it('should start by its first line, and print all that a first plant needs', async () => {
    expect(blockOf('', 'sh')).toMatch(/^npm ci && npm start +# .*\nnpm ci && npm test +# .*\n$/);
    const first = await start('npm ci && npm start', /^psql .*\n$/m);
    const token = (await readFile(join(folder, '.data/access-token'), 'utf8')).trim();
    const url = `http://127.0.0.1:${env.PORT ?? ''}`;
    const lines = [
      `  Plants  ${url}/plants`,
      `  Docs    ${url}/docs#token=${token}`,
      'psql "$(cat .data/database-url)"',
    ];
    expect(first.output.split('\n')).toEqual(expect.arrayContaining(lines));
    expect(first.output.split(token)).toHaveLength(3);
    const curl = /^curl .*$/m.exec(first.output)?.[0] ?? '';
    expect(await inShell(curl)).toBe('{"name":"Rose","tag":"flower"}');
    for (const name of ['access-token', 'database-url'])
      expect((await stat(join(folder, '.data', name))).mode & 0o777).toBe(0o600);
    await create(token);

    await stop('SIGINT');
    expect(first.output.match(/Stopping;/g)).toHaveLength(1);
    // The same token and plants.
    const second = await start('npm start', /^curl .*$/m);
    expect(await inShell(curl)).toMatch('"error":40901');
    // npm alone gets the signal of a service manager, and passes it on.
    second.signal('SIGTERM');
    await second.printed(/"Stopped"/);
  });

  it('should serve each change in watch mode, keep token and plants, and survive a syntax error', async () => {
    const file = join(folder, 'src/config/package-files.ts');
    const source = await readFile(file, 'utf8');
    const watch = await start('npm run start:dev', /^curl .*$/m);
    await writeFile(file, `${source}\nconst broken = ;\n`);
    await watch.printed(/error.*TS1109/);
    const token = (await readFile(join(folder, '.data/access-token'), 'utf8')).trim();
    let [id, loading, created] = [0, true, 0];
    const refusals: number[] = [];
    const createPlants = async (): Promise<void> => {
      while (loading) {
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
        const options = { method: 'POST', headers, body: `{"id":${++id},"name":"Rose"}` };
        const answer = await fetch(`http://127.0.0.1:${env.PORT ?? ''}/plants`, options).catch(() => undefined);
        if (answer?.status === 200) created++;
        else if (answer) refusals.push(((await answer.json()) as { error: number }).error);
        else await sleep(10);
      }
    };
    const load = Promise.all(Array.from({ length: 20 }, createPlants));
    await until(() => created > 100);
    await writeFile(file, source.replace(').version;', ").version + '-changed';"));
    const [, second = ''] = await watch.printed(/Plant Store [\d.]+-changed[^]*^(curl .*)\n/m);
    loading = false;
    await load;
    // The server outlasts the service that is stopped.
    expect(refusals).toEqual([]);
    expect(watch.output.match(/Listening on/g)).toHaveLength(2);
    expect(second).toContain(token);
    expect(await inShell(second)).toBe('{"name":"Rose","tag":"flower"}');
    await stop('SIGINT');
    await writeFile(file, source);
  });

  it("should run on a database of one's own", async () => {
    // As in the README, but the role and the database have other names: other tests use the server at the same time.
    const name = `readme_${process.pid}`;
    const rename = (text: string): string => text.replace(/(ROLE|OWNER|DATABASE) plants/g, `$1 ${name}`);
    const database = await createTestDatabase({ migrated: false });
    const sql = rename(blockOf('Run it on your database', 'sql'));
    for (const statement of sql.trim().split('\n')) await database.query(statement);
    const url = `postgresql://${name}:password@${new URL(database.url).host}/${name}`;
    const commands = blockOf('Run it on your database', 'sh');
    expect(commands).toContain(URL_OF_README);
    try {
      // Its packages are installed already.
      const script = commands.replace(URL_OF_README, url).replace('npm ci && ', '');
      const { output } = await start(script, /Listening on .*:\d+\/plants/);
      await create(/^plant_\w+$/m.exec(output)?.[0] ?? '');
    } finally {
      await stop('SIGKILL');
      await database.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await database.query(`DROP ROLE IF EXISTS ${name}`);
      await database.drop();
    }
  });
});
