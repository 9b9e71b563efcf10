import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import setUpDatabase from '../support/jest/global-setup.mjs';
import globalTeardown from './global-teardown.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HOST = fileURLToPath(new URL('host', import.meta.url));
const LIMIT_MS = 300_000;

/** Jest's globalSetup: the packed store in a copy of the example and in the hosts, as anybody would install it. */
export default async function globalSetup() {
  await setUpDatabase();
  try {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-packed-'));
    process.env.PACKED_WORKSPACE = folder;
    await run(ROOT, 'npm pack --silent --ignore-scripts --pack-destination', folder);
    const waiting = [
      [join(folder, 'examples/monorepo'), copyExample],
      ...['nest-11', 'nest-12-cjs', 'nest-12-esm'].map((layout) => [join(folder, 'layouts', layout), copyHost]),
    ];
    // More at a time would take as long, and their writes make each other slow.
    await all([1, 2].map(() => installEach(waiting)));
  } catch (error) {
    // Jest runs no teardown if the setup fails.
    await globalTeardown();
    throw error;
  }
}

async function installEach(waiting) {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [folder, copy] = next;
    await copy(folder);
    await run(folder, 'npm install --prefer-offline --no-audit --no-fund --loglevel error');
    await run(folder, 'npm run --silent build');
  }
}

async function copyExample(folder) {
  await cp(join(ROOT, 'examples', basename(folder)), folder, { recursive: true, filter: isSource });
}

/** What was installed and built in the checkout stays there. */
function isSource(path) {
  return !['node_modules', 'dist'].includes(basename(path));
}

/** The files that `nest new` makes in each layout, those of this layout, and the source of the host. */
async function copyHost(folder) {
  for (const part of ['layouts/all', `layouts/${basename(folder)}`])
    await cp(join(HOST, part), folder, { recursive: true });
  for (const part of ['src', 'esbuild.mjs']) await cp(join(HOST, part), join(folder, part), { recursive: true });
  const { type } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (type === 'module') return;
  // In CommonJS `nest new` writes its imports without them, and Jest finds no others.
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const source = await readFile(join(folder, file), 'utf8');
    await writeFile(join(folder, file), source.replace(/(from '(?:\.|supertest)[^']*)\.js'/g, "$1'"));
  }
}

async function run(cwd, command, ...args) {
  const [program, ...options] = command.split(' ');
  const child = spawn(program, [...options, ...args], { cwd, stdio: ['ignore', 2, 2], timeout: LIMIT_MS });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`\`${command}\` ended with ${code ?? signal} in ${cwd}; what it printed is above.`);
}

/** Fails as Promise.all() does, but only when all have ended: a folder to which one still writes can't be removed. */
async function all(work) {
  const failure = (await Promise.allSettled(work)).find(({ status }) => status === 'rejected');
  if (failure) throw failure.reason;
}
