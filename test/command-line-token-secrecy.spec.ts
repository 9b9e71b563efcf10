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
});

async function commandLines(): Promise<string[]> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.map((line) => line.replaceAll('\0', ' '));
}
