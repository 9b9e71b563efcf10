import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { serviceVariables } from '../support/service/service-variables.js';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
const FREE_PORTS = { PORT: '0', MANAGEMENT_PORT: '0' };
const COLOURS = { TERM: 'xterm-256color' };
const SPINNER = /[\u2800-\u28ff] (?:Building|Starting a PostgreSQL)/;
const ESCAPE = '\u001b';
const CLEAR_LINE = `\r${ESCAPE}[2K`;
const missing = process.platform === 'linux' ? undefined : 'there is no `script` of util-linux here.';

describeWith(missing, 'plant-store serve on a terminal', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-terminal-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const onTerminal = (variables: Record<string, string>): PlantStoreProcess =>
    new PlantStoreProcess(['serve'], { terminal: true, cwd: folder, variables: { ...FREE_PORTS, ...variables } });

  it('should show what it does, then how to use it, and end by Ctrl-C', async () => {
    await using service = onTerminal(COLOURS);
    await service.printed(/Ctrl-C stops it/);
    const token = (await readFile(join(folder, '.data/access-token'), 'utf8')).trim();
    expect(service.output).toMatch(SPINNER);
    expect(service.output).toContain(`${ESCAPE}[36m`);
    const lines = linesLeft(service.output);
    const url = /Listening on (http:\/\/[^/]+)/.exec(lines.join('\n'))?.[1] ?? '';
    expect(lines.slice(lines.findIndex((line) => line.includes('Plant Store')))).toEqual([
      expect.stringMatching(/^ {2}Plant Store \d+\.\d+\.\d+$/),
      '',
      `  Plants  ${url}/plants`,
      `  Docs    ${url}/docs#token=${token}`,
      `  Token   ${token}`,
      `  Data    ${join(folder, '.data/postgres')}`,
      expect.stringMatching(/^ {2}Manage {2}http:\/\/127\.0\.0\.1:\d+ {2}\(\/livez, \/readyz, \/metrics, \/info\)$/),
      '',
      'Create a plant:',
      '',
      expect.stringMatching(/^curl -X POST .*"Rose"/),
      '',
      expect.stringMatching(/^List them: node \S+\/dist\/main\.js plants list$/),
      'Other ports: PORT and MANAGEMENT_PORT, in the environment',
      'Ctrl-C stops it.',
      '',
      '',
    ]);
    expect(lines.join('\n')).not.toMatch(SPINNER);
    service.interrupt();
    expect(await service.ended).toBe(0);
    expectCleanTerminal(service.output);
  });

  it.each([{ ...COLOURS, NO_COLOR: '1' }, { TERM: 'dumb' }])('should have no colour with %j', async (variables) => {
    await using service = onTerminal(variables);
    await service.printed(/Ctrl-C stops it/);
    service.interrupt();
    expect(await service.ended).toBe(0);
    expect(service.output.replaceAll(CLEAR_LINE, '')).not.toContain(ESCAPE);
    if (variables.TERM === 'dumb') expect(service.output).not.toMatch(SPINNER);
  });

  it('should print no more than into a pipe if CI is set', async () => {
    await using service = onTerminal({ ...COLOURS, CI: 'true', LOG_FORMAT: 'json' });
    await service.printed(/Or explore it: \S+\s/);
    service.interrupt();
    expect(await service.ended).toBe(0);
    expect(service.output).not.toContain(ESCAPE);
    expect(service.output).not.toContain('#token');
  });

  it('should leave a clean terminal after Ctrl-C while it starts its database', async () => {
    await using service = onTerminal(COLOURS);
    await service.printed(SPINNER);
    service.interrupt();
    const code = await service.ended;
    expect({ code, output: service.output }).toEqual({ code: 0, output: service.output });
    expectCleanTerminal(service.output);
    await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  it('should print no token that it did not make', async () => {
    const database = await createTestDatabase();
    await using service = onTerminal({ ...serviceVariables(database.url), ...COLOURS, LOG_FORMAT: 'pretty' });
    await service.printed(/Ctrl-C stops it/);
    expect(service.output).toMatch(/Docs .*\/docs\S*\r\n/);
    expect(service.output).not.toContain(TOKEN);
    expect(service.output).not.toMatch(/token|curl/i);
    expect(service.output).not.toContain(database.url);
    service.interrupt();
    expect(await service.ended).toBe(0);
    await database.drop();
  });

  describe('with a build before it', () => {
    const start = (): PlantStoreProcess =>
      new PlantStoreProcess(['serve'], {
        terminal: true,
        script: join(folder, 'scripts/start.mjs'),
        variables: COLOURS,
      });

    /** A package with a build of its own. */
    beforeEach(async () => {
      await cp(SCRIPTS, join(folder, 'scripts'), { recursive: true });
      for (const path of ['src/database/generated', 'prisma']) {
        await mkdir(join(folder, path), { recursive: true });
      }
      for (const file of ['prisma.config', 'tsconfig', 'tsconfig.build', 'package-lock']) {
        await writeFile(join(folder, `${file}${file === 'prisma.config' ? '.ts' : '.json'}`), '');
      }
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ type: 'module', scripts: { build: 'node build.mjs' } }),
      );
    });

    it('should show that it builds, and nothing of it afterwards', async () => {
      const build = "mkdirSync('dist'); writeFileSync('dist/main.js', 'console.log(1)')";
      await writeFile(join(folder, 'build.mjs'), `import { mkdirSync, writeFileSync } from 'node:fs'; ${build}`);
      await using service = start();
      expect(await service.ended).toBe(0);
      expect(service.output).toMatch(/[\u2800-\u28ff] Building …/);
      expect(linesLeft(service.output)).toEqual(['1', '']);
    });

    it('should leave a clean terminal after Ctrl-C while it builds', async () => {
      await writeFile(join(folder, 'build.mjs'), 'setInterval(() => undefined, 1000)');
      await using service = start();
      await service.printed(SPINNER);
      service.interrupt();
      // As a shell has it, for an end by SIGINT.
      expect(await service.ended).toBe(130);
      expectCleanTerminal(service.output);
    });
  });
});

/** The lines that stay on the terminal, without their colours. */
function linesLeft(output: string): string[] {
  const lines = output.split('\r\n').map((line) => line.split(CLEAR_LINE).at(-1) ?? '');
  // eslint-disable-next-line no-control-regex
  return lines.map((line) => line.replace(/\u001b\[[\d;]*m/g, ''));
}

function expectCleanTerminal(output: string): void {
  expect(linesLeft(output).at(-1)).toBe('');
  // The cursor was never hidden.
  expect(output).not.toContain(`${ESCAPE}[?25l`);
}
