// Runs a command of the service, and before it the build where that is missing or older than its sources.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENTRY = join(root, 'dist/main.js');
const SOURCES = [
  'src',
  'prisma',
  'prisma.config.ts',
  'openapi.json',
  'package-lock.json',
  'scripts/generate-client-types.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
];

if (!existsSync(ENTRY) || newest(SOURCES.map((path) => join(root, path))) > statSync(ENTRY).mtimeMs) {
  // Standard output is for what the command prints.
  console.error('Building …');
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: root,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    console.error(stdout, stderr);
    process.exit(status ?? 1);
  }
}
if (existsSync('.env')) process.loadEnvFile();
await import('../dist/main.js');

function newest(paths) {
  return Math.max(
    ...paths.map((path) => {
      const stat = statSync(path);
      return stat.isDirectory() ? newest(readdirSync(path).map((name) => join(path, name))) : stat.mtimeMs;
    }),
  );
}
