// Runs dist/main.js or dist/cli.js, whichever is named first, of the sources as they are.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './build.mjs';

const folder = process.cwd();
if (!isBuilt()) {
  // In a process of its own: the compiler takes memory that a service does not get back.
  const build = fileURLToPath(new URL('build.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [build], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
process.chdir(folder);
const [entry] = process.argv.splice(2, 1);
await import(`../dist/${entry}.js`);
