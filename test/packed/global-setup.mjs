import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import setUpDatabase from '../support/global-setup.mjs';
import globalTeardown from './global-teardown.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HOST = fileURLToPath(new URL('host', import.meta.url));
const LIMIT_MS = 300_000;

/** Jest's globalSetup: the packed store in copies of the examples and in the hosts, as anybody would install it. */
export default async function globalSetup() {
  await setUpDatabase();
  try {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-packed-'));
    process.env.PACKED_WORKSPACE = folder;
    await run(ROOT, 'npm pack --silent --ignore-scripts --pack-destination', folder);
    await all(['monorepo', 'commonjs-host'].map((example) => install(join(folder, 'examples', example), example)));
    // Inside of the monorepo, which has all that they need: another installation would take as long again.
    const monorepo = join(folder, 'examples/monorepo');
    await all([buildHost(monorepo, 'esm', 'module'), buildHost(monorepo, 'commonjs', 'commonjs')]);
  } catch (error) {
    // Jest runs no teardown where the setup fails.
    await globalTeardown();
    throw error;
  }
}

async function install(folder, example) {
  // Whatever was installed and built in the checkout stays there.
  const filter = (source) => !['node_modules', 'dist'].includes(basename(source));
  await cp(join(ROOT, 'examples', example), folder, { recursive: true, filter });
  await run(folder, 'npm install --prefer-offline --no-audit --no-fund --loglevel error');
  await run(folder, 'npm run --silent build');
}

async function buildHost(monorepo, format, type) {
  const folder = join(monorepo, 'hosts', format);
  await cp(HOST, folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }));
  await run(monorepo, 'npx --no-install tsc -p', folder);
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
