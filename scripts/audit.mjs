// Asks the registry for known vulnerabilities of the packages that production runs. One that is high or critical is a failure.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
// Production has another package.json: deploy/docker/service-manifest.mjs.
const folder = mkdtempSync(join(tmpdir(), 'audit-'));
for (const file of ['package.json', 'package-lock.json']) cpSync(fromRoot(file), join(folder, file));
spawnSync(process.execPath, [fromRoot('deploy/docker/service-manifest.mjs')], { cwd: folder });
const { stdout } = spawnSync('npm', ['audit', '--package-lock-only', '--omit=dev', '--omit=optional', '--json'], {
  cwd: folder,
  encoding: 'utf8',
  timeout: 60_000,
  shell: process.platform === 'win32',
});
rmSync(folder, { recursive: true });
const { metadata, vulnerabilities = {}, message = 'no answer' } = reportOf(stdout);

// npm exits with 1 in both cases: only a report has metadata.
if (metadata === undefined) {
  console.log(`Dependencies were not audited: the registry does not answer audits (${message}).`);
} else {
  for (const { name, severity, range } of Object.values(vulnerabilities)) console.log(`${severity}: ${name} ${range}`);
  const { total, high, critical } = metadata.vulnerabilities;
  console.log(`Dependencies were audited: ${total} known vulnerabilities, ${high + critical} high or critical.`);
  process.exitCode = high + critical > 0 ? 1 : 0;
}

function reportOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
