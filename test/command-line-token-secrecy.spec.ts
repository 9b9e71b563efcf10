import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PlantStoreProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { TokenCommands } from './support/token-commands.js';

describe('plant-store token create, and who else could have the token', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should store the digest of the token, and the token nowhere', async () => {
    const { token } = await commands.make('create', '--name', 'stored');
    const [row] = await database.query<{ digest: Buffer }>(`SELECT digest FROM access_tokens WHERE name = 'stored'`);
    expect(row?.digest).toEqual(createHash('sha256').update(token).digest());
    const tables = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toContain('access_tokens');
    for (const { name } of tables) {
      const rows = await database.query<{ text: string }>(`SELECT t::text AS text FROM "${name}" t`);
      for (const { text } of rows) {
        // In whatever form: bytes are printed in hexadecimal.
        expect(text).not.toContain(token.slice(6, 20));
        expect(text).not.toContain(Buffer.from(token.slice(6, 20)).toString('hex'));
      }
    }
  });

  const itOnLinux = process.platform === 'linux' ? it : it.skip;

  itOnLinux('should show the token to nobody who lists the processes', async () => {
    const seen = new Set<string>();
    const run = new PlantStoreProcess(['token', 'create', '--name', 'watched'], {
      variables: { DATABASE_URL: database.url },
    });
    while (run.isRunning) for (const line of await commandLines()) seen.add(line);
    expect(await run.ended).toBe(0);
    const token = run.stdout.trim();
    // What is looked for could have been seen.
    expect([...seen].some((line) => line.includes('token create --name watched'))).toBe(true);
    expect([...seen].filter((line) => line.includes(token.slice(6, 20)))).toEqual([]);
  });

  itOnLinux('should say that nobody has the token where it could not be printed', async () => {
    const script = 'exec "$0" "$1" token create --name unprinted >/dev/full';
    const { main, node } = { main: new URL('../dist/main.js', import.meta.url).pathname, node: process.execPath };
    const run = new PlantStoreProcess(['-e', SHELL, script, node, main], {
      script: '--input-type=commonjs',
      variables: { DATABASE_URL: database.url },
    });
    expect(await run.ended).toBe(1);
    const { id } = await commands.only('unprinted');
    expect(run.stderr).toMatch(
      new RegExp(
        `^plant-store: the access token unprinted was made, but could not be printed \\(ENOSPC.*\\)\\. .*token revoke ${id}\n$`,
      ),
    );
  });
});

/** Runs a shell script in the place of Node's own. */
const SHELL = `
  const [, script, ...args] = process.argv;
  process.exitCode = require('node:child_process').spawnSync('sh', ['-c', script, ...args], { stdio: 'inherit' }).status;
`;

async function commandLines(): Promise<string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.map((line) => line.replaceAll('\0', ' '));
}
