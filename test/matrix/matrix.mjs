import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';

const USAGE = `npm run test:matrix -- [--only node=MAJOR,postgres=MAJOR]

Runs the contract suite, migrations, tokens and kill -9 on each version of Node.js with each of PostgreSQL that
test/matrix/versions.json has, and writes the result to docs/install.md. It installs both into ~/.cache/plant-store-matrix.

  --only WHICH    some pairs, such as node=24 or node=24,postgres=15; docs/install.md stays as it is
`;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = join(ROOT, 'docs/install.md');
const [BEGIN, END] = ['<!-- matrix -->', '<!-- end of matrix -->'];
/** A pair takes half a minute, and its installation as long. */
const PAIR_LIMIT_MS = 600_000;

const { values: options } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } });
const versions = JSON.parse(await readFile(new URL('versions.json', import.meta.url), 'utf8'));

if (options.help) console.log(USAGE);
else await main();

async function main() {
  const only = readOnly(options.only);
  const majors = (program) =>
    Object.keys(versions[program]).filter((major) => [undefined, major].includes(only[program]));
  const results = [];
  for (const postgres of majors('postgres')) {
    for (const node of majors('node')) {
      const result = { node, postgres, ...(await tryPair(node, postgres)) };
      results.push(result);
      const names = `Node.js ${versions.node[node]}, PostgreSQL ${nameOf(versions.postgres[postgres])}`;
      console.log(`${names}: ${describe(result)} in ${result.seconds.toFixed(0)} s`);
    }
  }
  if (options.only === undefined) await writeTable(results);
  process.exitCode = results.length > 0 && results.every(({ failed }) => failed === 0) ? 0 : 1;
}

function readOnly(text = '') {
  const parts = text.split(',').filter(Boolean);
  for (const part of parts) {
    const [program, major] = part.split('=');
    if (versions[program]?.[major]) continue;
    const known = Object.entries(versions).flatMap(([name, all]) => Object.keys(all).map((one) => `${name}=${one}`));
    console.error(`--only has ${JSON.stringify(part)}, should be of: ${known.join(', ')}\n\n${USAGE}`);
    process.exit(2);
  }
  return Object.fromEntries(parts.map((part) => part.split('=')));
}

/** The suite of one pair, in a run of its own. What it prints is shown if a test fails. */
async function tryPair(node, postgres) {
  const start = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-matrix-'));
  const outcome = join(folder, 'outcome.json');
  try {
    const jest = ['node_modules/jest/bin/jest.js', '--selectProjects', 'slow', '--config', 'jest.config.mjs'];
    const suite = ['test/matrix/pair.slow.spec.ts', '--json', `--outputFile=${outcome}`];
    const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', ...jest, ...suite], {
      cwd: ROOT,
      env: { ...process.env, MATRIX_NODE: node, MATRIX_POSTGRES: postgres },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: PAIR_LIMIT_MS,
    });
    const [errors] = await Promise.all([text(child.stderr), once(child, 'close')]);
    const seconds = (performance.now() - start) / 1000;
    const counts = await readFile(outcome, 'utf8').then(JSON.parse, () => ({ numPassedTests: 0, numTotalTests: 1 }));
    const { numPassedTests: passed, numTotalTests: total } = counts;
    const failed = child.exitCode === 0 ? 0 : Math.max(1, total - passed);
    if (failed > 0) console.error(errors);
    return { passed, failed, seconds };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function describe({ passed, failed }) {
  return failed === 0 ? `${passed} passed` : `${failed} of ${passed + failed} failed`;
}

/** PostgreSQL's own number: what follows is the package's. */
function nameOf(version) {
  return version.replace(/\.0-.*$/, '');
}

async function writeTable(results) {
  const nodes = Object.keys(versions.node);
  const header = ['', ...nodes.map((major) => `Node.js ${versions.node[major]}`)];
  const rows = Object.entries(versions.postgres).map(([postgres, version]) => [
    `PostgreSQL ${nameOf(version)}`,
    ...nodes.map((node) => describe(results.find((one) => one.node === node && one.postgres === postgres))),
  ]);
  const lines = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const page = await readFile(PAGE, 'utf8');
  const [before, after] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  const date = new Date().toISOString().slice(0, 10);
  const whole = `${page.slice(0, before)}\n\nRun on ${date}, on Linux x64:\n\n${lines.join('\n')}\n\n${page.slice(after)}`;
  await writeFile(PAGE, await format(whole, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}
