import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
const FREE_PORTS = { PORT: '0', MANAGEMENT_PORT: '0' };
const COLOURS = { TERM: 'xterm-256color' };
const SPINNER = /[\u2800-\u28ff] Building …/;
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

  it('should leave a clean terminal after Ctrl-C, also while it starts its database', async () => {
    const isStarting = (): Promise<boolean> => Promise.resolve(existsSync(join(folder, '.data')));
    for (const moment of [() => until(isStarting), (service: PlantStoreProcess) => service.printed(/database-url/)]) {
      await using service = new PlantStoreProcess(['serve'], { terminal: true, cwd: folder, variables: FREE_PORTS });
      await moment(service);
      service.interrupt();
      expect(await service.ended).toBe(0);
      expectCleanTerminal(service.output);
      await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
    }
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
      expect(service.output).toMatch(SPINNER);
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
