import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isAlive } from '../support/service/is-alive.js';
import { until } from '../support/until.js';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
const BUILD = `
  import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
  appendFileSync('builds', 'built ');
  mkdirSync('dist', { recursive: true });
  writeFileSync('dist/main.js', 'console.log("running", process.argv.slice(2).join(" "))');
`;
const SOURCES = ['src/plants/plant.ts', 'prisma/schema.prisma'];
/** What the build makes too. */
const GENERATED = 'src/database/generated';
const SETTINGS = [
  'prisma.config.ts',
  'package-lock.json',
  'scripts/build.mjs',
  'scripts/generate-migrations.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];

describe('npm start', () => {
  let root: string;

  /** A package whose build is a matter of milliseconds, and which counts its builds. */
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'plant-store-script-'));
    await mkdir(join(root, 'src/plants'), { recursive: true });
    await mkdir(join(root, 'prisma'));
    await cp(SCRIPTS, join(root, 'scripts'), { recursive: true });
    await mkdir(join(root, GENERATED), { recursive: true });
    for (const file of [...SOURCES, ...SETTINGS]) await write(file, '');
    await write('package.json', JSON.stringify({ type: 'module', scripts: { build: 'node build.mjs' } }));
    await write('build.mjs', BUILD);
  });
  afterEach(() => rm(root, { recursive: true }));

  const write = (file: string, content: string): Promise<void> => writeFile(join(root, file), content);
  const builds = async (): Promise<number> => (await readFile(join(root, 'builds'), 'utf8')).split(' ').length - 1;

  async function start(cwd = tmpdir()): Promise<{ code: number | null; output: string; errors: string }> {
    const child = spawn(process.execPath, [join(root, 'scripts/start.mjs'), 'serve'], { cwd });
    const closed = once(child, 'close');
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, output, errors };
  }

  it('should build if there is no build, and then run that, from any folder', async () => {
    expect(await start()).toMatchObject({ code: 0, output: 'running serve\n', errors: 'Building …\n' });
    expect(await start()).toMatchObject({ code: 0, output: 'running serve\n', errors: '' });
    expect(await builds()).toBe(1);
  });

  it.each([...SOURCES, ...SETTINGS])('should build anew if %s has changed, with any time of the file', async (file) => {
    await start();
    await write(file, 'changed');
    await utimes(join(root, file), 0, 0);
    expect(await start()).toMatchObject({ code: 0, output: 'running serve\n', errors: 'Building …\n' });
    expect(await builds()).toBe(2);
  });

  it('should build anew if a source is gone or new, but not for a test', async () => {
    await start();
    await rm(join(root, 'src/plants/plant.ts'));
    expect(await start()).toMatchObject({ errors: 'Building …\n' });
    await write('src/plants/new.ts', '');
    expect(await start()).toMatchObject({ errors: 'Building …\n' });
    await write('src/plants/new.spec.ts', '');
    expect(await start()).toMatchObject({ output: 'running serve\n', errors: '' });
  });

  it('should build anew if another build has been made since', async () => {
    await start();
    await write('dist/main.js', '');
    expect(await start()).toMatchObject({ code: 0, output: 'running serve\n', errors: 'Building …\n' });
  });

  it('should read the variables of .env, as far as they are not set already', async () => {
    await write('.env', 'PLANTS_FROM_FILE=yes\nHOME=elsewhere\n');
    await write(
      'build.mjs',
      BUILD.replace('process.argv.slice(2).join(" ")', 'process.env.PLANTS_FROM_FILE, process.env.HOME'),
    );
    expect(await start(root)).toMatchObject({ output: `running yes ${process.env.HOME ?? ''}\n` });
  });

  describe('that is ended while it builds', () => {
    const pid = async (): Promise<number> => Number(await readFile(join(root, 'building'), 'utf8').catch(() => ''));

    beforeEach(() =>
      write(
        'build.mjs',
        `import { writeFileSync } from 'node:fs'; writeFileSync('building', String(process.pid)); setInterval(() => 0, 1000)`,
      ),
    );

    async function expectEnd(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
      const closed = once(child, 'close');
      await until(async () => (await pid()) > 0);
      const build = await pid();
      child.kill(signal);
      await closed;
      await until(() => !isAlive(build));
    }

    it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('should end the build with itself at %s', async (signal) => {
      const child = spawn(process.execPath, [join(root, 'scripts/start.mjs'), 'serve']);
      await expectEnd(child, signal);
      expect(child.signalCode).toBe(signal);
    });

    it.each(['node scripts/start.mjs serve', 'node scripts/start.mjs serve; true'])(
      'should end the build as npm runs %s',
      async (script) => {
        await write(
          'package.json',
          JSON.stringify({ type: 'module', scripts: { build: 'node build.mjs', start: script } }),
        );
        await expectEnd(spawn('npm', ['start'], { cwd: root }), 'SIGTERM');
      },
    );
  });

  it('should say what to install if the build fails without development dependencies', async () => {
    const scripts = { build: 'node missing.mjs' };
    await write('package.json', JSON.stringify({ type: 'module', scripts, devDependencies: { typescript: '*' } }));
    const { code, errors } = await start();
    expect(code).toBe(1);
    expect(errors).toBe(
      'Building …\nplant-store: the build needs packages that are not installed: run "npm ci --include=dev"\n',
    );
  });

  it('should not run if the build fails, and show why', async () => {
    await write('build.mjs', 'console.error("a mistake in line 7"); process.exit(3);');
    const failed = { code: 3, output: '', errors: expect.stringContaining('a mistake in line 7') as unknown };
    expect(await start()).toEqual(failed);
    expect(await start()).toEqual(failed);
  });
});
