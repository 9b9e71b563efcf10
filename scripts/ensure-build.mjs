// Builds, unless dist/ is what a build of just these sources has made.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENTRY = join(root, 'dist/main.js');
/** What the build was made from. Every build removes dist/, and this with it. */
const RECORD = join(root, 'dist/.sources');
const SOURCES = [
  'src',
  'prisma',
  'prisma.config.ts',
  'package-lock.json',
  'scripts/build.mjs',
  'scripts/generate-migrations.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const GENERATED = 'src/database/generated';

if (!isBuilt()) {
  // Before the line is drawn that a signal has to take away.
  const building = build(() => endProgress());
  const endProgress = showProgress('Building …');
  const { status, stdout, stderr } = await building;
  endProgress();
  if (status !== 0) {
    // With NODE_ENV=production npm leaves them out.
    const { devDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const isComplete = Object.keys(devDependencies).every((name) => existsSync(join(root, 'node_modules', name)));
    if (isComplete) console.error(stdout, stderr);
    else console.error('plant-store: the build needs packages that are not installed: run "npm ci --include=dev"');
    process.exit(status);
  }
  writeFileSync(RECORD, fingerprint());
}

async function build(endProgress) {
  const isWindows = process.platform === 'win32';
  // With all of its processes in a group of its own: npm and its shells do not pass every signal on.
  const child = spawn('npm', ['run', '--silent', 'build'], {
    cwd: root,
    shell: isWindows,
    detached: !isWindows,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Ends as without a listener, with the build, and without the line that would stay on a terminal.
  const stop = (signal) => {
    endProgress();
    try {
      process.kill(isWindows ? child.pid : -child.pid, 'SIGTERM');
    } catch {
      // It has ended already.
    }
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  const shell = process.ppid;
  const watch = setInterval(() => {
    // npm signals its shell, which ends without passing the signal on.
    if (process.env.npm_lifecycle_event !== undefined && process.ppid !== shell) process.kill(process.pid, 'SIGTERM');
  }, 200);
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  clearInterval(watch);
  for (const signal of SIGNALS) process.off(signal, stop);
  return { status: status ?? 1, stdout, stderr };
}

/** On a terminal a line that moves, and is gone at its end. Standard output is for what the command prints. */
function showProgress(text) {
  const { CI, TERM } = process.env;
  if (!process.stdout.isTTY || !process.stderr.isTTY || CI || TERM === 'dumb') {
    console.error(text);
    return () => undefined;
  }
  const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
  const clear = () => process.stderr.write('\r\u001b[2K');
  const draw = () => {
    frames.push(frames.shift());
    process.stderr.write(`\r${frames[0]} ${text}`);
  };
  draw();
  const timer = setInterval(draw, 80);
  return () => {
    clearInterval(timer);
    clear();
  };
}

function isBuilt() {
  if (![ENTRY, RECORD, join(root, GENERATED)].every((path) => existsSync(path))) return false;
  return readFileSync(RECORD, 'utf8') === fingerprint();
}

/** Contents and not times, which a copy or a checkout may set to anything; the time of the build, which it alone sets. */
function fingerprint() {
  const hash = createHash('sha256').update(String(statSync(ENTRY).mtimeMs));
  for (const path of SOURCES.flatMap(filesIn)) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

function filesIn(path) {
  if (path === GENERATED || path.endsWith('.spec.ts')) return [];
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesIn(`${path}/${name}`));
}
