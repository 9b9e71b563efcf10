import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';

/** Runs a shell script in the place of Node's own; in it, `"$0" "$1"` is plant-store. */
const SHELL = `
  const [, script, ...args] = process.argv;
  process.exitCode = require('node:child_process').spawnSync('bash', ['-c', script, ...args], { stdio: 'inherit' }).status;
`;
const MAIN = new URL('../../dist/main.js', import.meta.url).pathname;
const PLANTS = 500_000;
const LARGE_PLANTS = 150;

describe('plant-store plants export, of many plants', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query(
      `INSERT INTO plants (id, name, tag) SELECT id, 'Rose', 'flower' FROM generate_series(1, $1::int) AS id`,
      [PLANTS],
    );
    await database.query(
      `INSERT INTO plants (id, name) SELECT -id, repeat('x', 1000000) FROM generate_series(1, $1::int) AS id`,
      [LARGE_PLANTS],
    );
  });
  afterAll(() => database.drop());

  async function run(script: string): Promise<{ stdout: string; stderr: string; code: number | string }> {
    const ran = new PlantStoreProcess(['-e', SHELL, `set -o pipefail; ${script}`, process.execPath, MAIN], {
      script: '--input-type=commonjs',
      variables: { DATABASE_URL: database.url },
    });
    return { code: await ran.ended, stdout: ran.stdout, stderr: ran.stderr };
  }

  it('should keep a page in memory, not all of them', async () => {
    // Twice what a command takes that reads nothing, and a third of what is exported.
    const { stdout, stderr, code } = await run(
      '"$0" --max-old-space-size=80 "$1" plants export | tee >(wc -l >&2) | tail -c 1 | wc -l',
    );
    expect([stdout.trim(), stderr.trim(), code]).toEqual(['1', String(PLANTS + LARGE_PLANTS), 0]);
  });

  it('should not complain of a reader that has read enough', async () => {
    const { stdout, stderr } = await run('{ "$0" "$1" plants export --after 0; echo "and $?" >&2; } | head -n 1');
    expect(stdout).toMatch(/^\{"id":1,"name":"Rose","tag":"flower",.*\}\n$/);
    expect(stderr).toBe('and 0\n');
  });

  it('should fail if there is no room for what it prints', async () => {
    const { stderr, code } = await run('"$0" "$1" plants export >/dev/full');
    expect(stderr).toMatch(/^plant-store: standard output cannot be written to \(ENOSPC.*\)\n$/);
    expect(code).toBe(1);
  });

  const hasTerminals = spawnSync('script', ['--version']).status === 0;
  (hasTerminals ? it : it.skip)('should show on a terminal, and nowhere else, how far it is', async () => {
    const { stdout } = await run(`script -qec "'$0' '$1' plants export --after 0 > /dev/null" /dev/null`);
    expect(stdout).toMatch(/(\r\d+ plants, \d+\/s.\[K)+/);
    expect(stdout).toMatch(new RegExp(`\\r${PLANTS} plants, \\d+/s.\\[K\\r?\\n$`));
    // If the plants are on the terminal too, their lines stay whole.
    const { stdout: mixed } = await run(`script -qec "'$0' '$1' plants export --after ${PLANTS - 10_000}" /dev/null`);
    expect(mixed.split(/\r?\n/).filter((line) => !line.startsWith('{"id":'))).toEqual([
      expect.stringMatching(new RegExp(`^\\r10000 plants, `)) as unknown,
      '',
    ]);
  });
});
