// Runs a command of the service, built from the sources as they are, with the variables of .env as far as they are not set already.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// In a process of its own: the compiler takes memory that a service does not get back.
const build = fileURLToPath(new URL('build.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [build, '--quick', '--if-changed'], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
if (existsSync('.env')) process.loadEnvFile();
await import('../dist/main.js');
