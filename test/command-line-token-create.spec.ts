import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isWellFormedToken } from '../src/auth/issued/token-form.js';
import { Migrator } from '../src/database/migrator.js';
import { PlantStoreProcess } from './support/process.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';
import { type ListedToken, TokenCommands } from './support/token-commands.js';

const HOUR = 3600;
const DAY = 24 * HOUR;

describe('plant-store token create and list', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    // As a database of somebody else's may be: days of 23 hours, and transactions that would see nothing of others.
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" SET timezone TO 'America/New_York'`);
    await database.query(`ALTER DATABASE "${name}" SET default_transaction_isolation TO 'repeatable read'`);
    commands = new TokenCommands({ DATABASE_URL: database.url });
  });
  afterAll(() => database.drop());

  const only = async (name: string): Promise<ListedToken> => {
    const [token, ...others] = await commands.list(name);
    if (token === undefined) throw new Error(`there is no token ${name}`);
    expect(others).toEqual([]);
    return token;
  };

  it('should list nothing, in a friendly way, where there are none', async () => {
    const table = await commands.run('list');
    expect(table.stdout).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE\n$/);
    expect(table.stderr).toMatch('plant-store token create --name NAME');
    expect(await table.ended).toBe(0);
    const json = await commands.run('list', '--json');
    expect([json.stdout, await json.ended]).toEqual(['[]\n', 0]);
  });

  it('should print the token alone, once, and tell the rest apart from it', async () => {
    const { token, told } = await commands.make('create', '--name', 'ci');
    expect(isWellFormedToken(token)).toBe(true);
    const { id, expiresAt, ...rest } = await only('ci');
    expect(rest).toEqual({
      name: 'ci',
      scopes: ['plants:create'],
      createdAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as unknown,
      lastUsedAt: null,
      revokedAt: null,
      state: 'valid',
    });
    expect(told).toContain(
      `Access token ci, with the id ${id}, for plants:create. It expires at ${expiresAt?.slice(0, 19)}Z.`,
    );
    expect(told).toContain('90 days, as --expires does not say otherwise');
    expect(told).toContain('shown this once');
  });

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

  it.each([
    ['90d', 90 * DAY],
    ['180d', 180 * DAY],
    ['270d', 270 * DAY],
    ['30m', 1800],
    ['12h', 12 * HOUR],
    ['2w', 14 * DAY],
    ['1y', 365 * DAY],
    ['100y', 36_500 * DAY],
  ])('should have a token end in %s, by the clock of the database', async (expires, seconds) => {
    const name = `in-${expires}`;
    const { told } = await commands.make('create', '--name', name, '--expires', expires);
    const [row] = await database.query(
      `SELECT extract(epoch FROM expires_at - created_at)::float8 AS life, created_at <= clock_timestamp() AS past
       FROM access_tokens WHERE name = $1`,
      [name],
    );
    expect(row).toEqual({ life: seconds, past: true });
    expect(told).not.toContain('--expires');
  });

  it.each([
    ['2099-12-31', '2099-12-31T23:59:59.999Z'],
    ['2099-12-31T18:00Z', '2099-12-31T18:00:00.000Z'],
    ['2099-12-31T18:00:00+02:00', '2099-12-31T16:00:00.000Z'],
    ['never', null],
  ])('should have a token end at %s', async (expires, expiresAt) => {
    const name = `at-${expires}`;
    const { told } = await commands.make('create', '--name', name, '--expires', expires);
    expect(await only(name)).toMatchObject({ expiresAt, state: 'valid' });
    expect(told).toContain(expiresAt === null ? 'It never expires.' : `It expires at ${expiresAt.slice(0, 19)}Z.`);
  });

  it.each(['2020-01-01', '2020-01-01T00:00Z'])('should refuse to make a token that ended at %s', async (expires) => {
    const told = await commands.fail(1, 'create', '--name', 'late', '--expires', expires);
    expect(told).toBe('plant-store: the access token would have expired already: its end must be in the future\n');
    expect(await commands.list('late')).toEqual([]);
  });

  it('should take scopes in several ways, and say which ones the store knows', async () => {
    const several = await commands.make('create', '--name', 'several', '--scope', 'plants:create b', '--scope', 'c,b');
    expect(several.told).toContain('knows the scope plants:create alone, and makes nothing of b c');
    expect(await only('several')).toMatchObject({ scopes: ['plants:create', 'b', 'c'] });
    const other = await commands.make('create', '--name', 'other-scope', '--scope', 'plants:read');
    expect(other.told).toContain('knows the scope plants:create alone: this token cannot create plants');
    expect(await only('other-scope')).toMatchObject({ scopes: ['plants:read'] });
  });

  it('should refuse the name of a valid token, and say which one that is and what to do', async () => {
    const { id } = await only('ci');
    expect(await commands.fail(1, 'create', '--name', 'ci')).toBe(
      `plant-store: a valid access token has the name ci already, with the id ${id}. Rotate it (plant-store token ` +
        'rotate ci), revoke it (plant-store token revoke ci), or choose another name\n',
    );
    expect(await only('ci')).toMatchObject({ id });
  });

  it('should take the name of a token that has expired, or was revoked', async () => {
    await commands.make('create', '--name', 'again');
    await database.query(`UPDATE access_tokens SET revoked_at = now() WHERE name = 'again'`);
    await commands.make('create', '--name', 'again');
    await database.query(`UPDATE access_tokens SET expires_at = now() WHERE name = 'again' AND revoked_at IS NULL`);
    await commands.make('create', '--name', 'again');
    const states = (await commands.list('again')).map(({ state }) => state);
    expect(states).toEqual(['revoked', 'expired', 'valid']);
  });

  it('should let exactly one of several have a name that ask for it at once', async () => {
    const runs = await Promise.all([1, 2, 3, 4].map(() => commands.run('create', '--name', 'contested')));
    const codes = await Promise.all(runs.map(({ ended }) => ended));
    expect(codes.sort()).toEqual([0, 1, 1, 1]);
    const { id } = await only('contested');
    for (const { stderr, stdout } of runs.filter(({ stdout }) => stdout === '')) {
      expect(stderr).toContain(`a valid access token has the name contested already, with the id ${id}.`);
      expect(stdout).toBe('');
    }
  });

  it('should list all in one table, in the order of their names, with times in UTC', async () => {
    const table = await commands.run('list');
    expect(table.stderr).toBe('');
    const [header, ...rows] = table.stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE$/);
    const cells = rows.map((row) => row.split(/ {2,}/));
    const listed = await commands.list();
    expect(cells.map(([id]) => Number(id))).toEqual(listed.map(({ id }) => id));
    const names = cells.map(([, name]) => name);
    expect(names).toEqual([...names].sort());
    for (const row of cells) {
      expect(row).toHaveLength(7);
      expect(row[3]).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
      expect(row[4]).toMatch(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z|never)$/);
      expect(row[6]).toMatch(/^(valid|expired|revoked)$/);
    }
  });

  it('should tell when a token was last used', async () => {
    await database.query(`UPDATE access_tokens SET last_used_at = '2030-01-02 03:04:00Z' WHERE name = 'ci'`);
    expect(await only('ci')).toMatchObject({ lastUsedAt: '2030-01-02T03:04:00.000Z' });
    expect((await commands.run('list')).stdout).toMatch(/ ci .* 2030-01-02T03:04:00Z +valid$/m);
  });

  it('should keep the tokens of another schema apart', async () => {
    await new Migrator({ url: database.url, schema: 'Garden 2' }).migrate();
    const before = await commands.list();
    await commands.make('create', '--name', 'ci', '--schema', 'Garden 2');
    const garden = await commands.run('list', '--json', '--schema', 'Garden 2');
    expect(JSON.parse(garden.stdout)).toMatchObject([{ id: 1, name: 'ci' }]);
    const url = new URL(database.url);
    url.searchParams.set('schema', 'Garden 2');
    expect(await new TokenCommands({ DATABASE_URL: url.href }).list()).toMatchObject([{ id: 1, name: 'ci' }]);
    expect(await commands.list()).toEqual(before);
  });

  it('should take the URL and the password of the database as serve does', async () => {
    const { password } = new URL(database.url);
    const url = new URL(database.url);
    url.password = '';
    const listed = await new TokenCommands({
      DATABASE_URL: url.href,
      DATABASE_PASSWORD: decodeURIComponent(password),
    }).list();
    expect(listed).toEqual(await commands.list());
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
    const { id } = await only('unprinted');
    expect(run.stderr).toMatch(
      new RegExp(
        `^plant-store: the access token unprinted was made, but could not be printed \\(ENOSPC.*\\)\\. .*token revoke ${id}\n$`,
      ),
    );
  });

  it('should have told no token and no digest but where it was made', () => {
    commands.expectNothingTold();
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
