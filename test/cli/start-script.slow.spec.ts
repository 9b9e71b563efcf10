import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isAlive } from '../support/service/process.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD = `
  import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
  import { recordBuild } from './sources.mjs';
  appendFileSync('builds', process.argv.at(-1) + ' ');
  mkdirSync('dist', { recursive: true });
  writeFileSync('dist/main.js', 'console.log("running", process.argv.slice(2).join(" "))');
  recordBuild('quick');
`;
const SOURCES = ['src/plants/plant.ts', 'prisma/schema.prisma'];
const SETTINGS = [
  'prisma.config.ts',
  'package-lock.json',
  'scripts/generate-migrations.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];

describe('npm start', () => {
  let root: string;

  /** A package whose build is a matter of milliseconds, and which counts its builds. */
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'plant-store-script-'));
    await cp(join(ROOT, 'scripts'), join(root, 'scripts'), { recursive: true });
    for (const folder of ['src/plants', 'src/database/generated', 'prisma'])
      await mkdir(join(root, folder), { recursive: true });
    for (const file of [...SOURCES, ...SETTINGS]) await write(file, '');
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    await write('package.json', JSON.stringify({ type: 'module', scripts }));
    await write('scripts/build.mjs', BUILD);
  });
  afterEach(() => rm(root, { recursive: true }));

  const write = (file: string, content: string): Promise<void> => writeFile(join(root, file), content);
  const builds = (): Promise<string> => readFile(join(root, 'builds'), 'utf8');

  async function start(): Promise<{ code: number | null; output: string; errors: string }> {
    const child = spawn('npm', ['--silent', 'start'], { cwd: root });
    const closed = once(child, 'close');
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, output, errors };
  }

  it('should build what a start needs if there is no build, and then run that', async () => {
    expect(await start()).toEqual({ code: 0, output: 'running serve\n', errors: 'Building …\n' });
    expect(await start()).toEqual({ code: 0, output: 'running serve\n', errors: '' });
    expect(await builds()).toBe('--quick ');
  });

  it.each([...SOURCES, ...SETTINGS])('should build anew if %s has changed, with any time of the file', async (file) => {
    await start();
    await write(file, 'changed');
    await utimes(join(root, file), 0, 0);
    expect(await start()).toEqual({ code: 0, output: 'running serve\n', errors: 'Building …\n' });
  });

  it('should build anew if a source is gone or new, or what was generated is gone, but not for a test', async () => {
    await start();
    await rm(join(root, 'src/plants/plant.ts'));
    expect(await start()).toMatchObject({ errors: 'Building …\n' });
    await write('src/plants/new.ts', '');
    expect(await start()).toMatchObject({ errors: 'Building …\n' });
    await write('src/plants/new.spec.ts', '');
    expect(await start()).toMatchObject({ errors: '' });
    await rm(join(root, 'src/database/generated'), { recursive: true });
    expect(await start()).toMatchObject({ errors: 'Building …\n' });
  });

  it('should take a whole build, as tests and packages need it', async () => {
    await write('scripts/build.mjs', BUILD.replace("'quick'", "'whole'"));
    await promisify(execFile)('node', ['scripts/ensure-build.mjs'], { cwd: root });
    expect(await start()).toMatchObject({ output: 'running serve\n', errors: '' });
  });

  it('should read the variables of .env, as far as they are not set already', async () => {
    await write('.env', 'PLANTS_FROM_FILE=yes\nHOME=elsewhere\n');
    const variables = 'process.env.PLANTS_FROM_FILE, process.env.HOME';
    await write('scripts/build.mjs', BUILD.replace('process.argv.slice(2).join(" ")', variables));
    expect(await start()).toMatchObject({ output: `running yes ${process.env.HOME ?? ''}\n` });
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('should end with its build at %s', async (signal) => {
    await write(
      'scripts/build.mjs',
      `import { writeFileSync } from 'node:fs'; writeFileSync('building', String(process.pid)); setInterval(() => 0, 1000)`,
    );
    const pid = async (): Promise<number> => Number(await readFile(join(root, 'building'), 'utf8').catch(() => ''));
    // As a terminal and a service manager do it: all of its processes get the signal.
    const child = spawn('npm', ['start'], { cwd: root, detached: true });
    await until(async () => (await pid()) > 0);
    process.kill(-(child.pid ?? 0), signal);
    await once(child, 'close');
    const build = await pid();
    await until(() => !isAlive(build));
  });

  it('should say what to install if the build lacks development dependencies', async () => {
    await cp(join(ROOT, 'scripts/build.mjs'), join(root, 'scripts/build.mjs'));
    expect(await start()).toEqual({
      code: 1,
      output: '',
      errors: 'Building …\nplant-store: the build needs packages that are not installed: run "npm ci --include=dev"\n',
    });
  });

  it('should not run if the build fails, and show why', async () => {
    await write('scripts/build.mjs', 'console.error("a mistake in line 7"); process.exit(3);');
    const failed = { code: 3, output: '', errors: 'Building …\na mistake in line 7\n' };
    expect(await start()).toEqual(failed);
    expect(await start()).toEqual(failed);
  });
});
