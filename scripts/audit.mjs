// Asks the registry for known vulnerabilities of the packages that production runs. One that is high or critical is a failure.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const cwd = mkdtempSync(join(tmpdir(), 'audit-'));
for (const file of ['package.json', 'package-lock.json']) cpSync(fromRoot(file), join(cwd, file));
// Production has another package.json.
spawnSync(process.execPath, [fromRoot('deploy/docker/service-manifest.mjs')], { cwd });
const args = ['audit', '--package-lock-only', '--omit=dev', '--omit=optional', '--json'];
const { stdout } = spawnSync('npm', args, { cwd, encoding: 'utf8', timeout: 60_000 });
rmSync(cwd, { recursive: true });

// npm exits with 1 in both cases: only a report has numbers.
const { metadata, vulnerabilities } = stdout.startsWith('{') ? JSON.parse(stdout) : {};
if (metadata === undefined) {
  console.log('Dependencies were not audited: the registry does not answer audits.');
} else {
  for (const { name, severity, range } of Object.values(vulnerabilities)) console.log(`${severity}: ${name} ${range}`);
  const { total, high, critical } = metadata.vulnerabilities;
  console.log(`Dependencies were audited: ${total} known vulnerabilities, ${high + critical} high or critical.`);
  process.exitCode = high + critical > 0 ? 1 : 0;
}
