// Runs `plant-store` of the sources as they are.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// In a process of its own: the compiler takes memory that a service does not get back.
const { status } = spawnSync(process.execPath, [fileURLToPath(new URL('build.mjs', import.meta.url))], {
  stdio: 'inherit',
});
if (status !== 0) process.exit(status ?? 1);
await import('../dist/cli.js');
