import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres, runningServerUrl } from '../../src/dev-postgres/embedded-postgres.js';
import { type BareDatabase, openBareDatabase } from '../support/database/bare-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { until } from '../support/until.js';

const PLANTS = 1_000_000;
/** A folder that holds more than one page, and plants at both ends of the ids. */
const SOME_PLANTS = `INSERT INTO plants (id, name, tag, idempotency_key, created_at, created_by, write_id)
  SELECT id, E'Rose "\\\\" \\u0001 🌹 ' || id, CASE WHEN id % 3 = 0 THEN '' WHEN id % 3 = 1 THEN 'tag' END,
    CASE WHEN id % 5 = 0 THEN 'key-' || id END, '2020-01-01 00:00:00.123456Z'::timestamptz + id * interval '1 microsecond',
    CASE WHEN id % 2 = 0 THEN 'me' END, CASE WHEN id % 7 = 0 THEN 9223372036854775807 - id END
  FROM generate_series(1, $1::int8) AS id`;
const EXTREMES = `INSERT INTO plants (id, name) VALUES (-9223372036854775808, 'lowest'), (9223372036854775807, 'highest'),
  (9007199254740993, repeat('x', 3000000)), (9007199254740994, repeat('🌹', 1000000)), (0, '')`;
/** All that two databases have to have in common, in an order that no collation changes. */
const EVERYTHING = `SELECT
  (SELECT md5(string_agg(md5(concat_ws('|', id, name, coalesce(tag, '-'), coalesce(idempotency_key, '-'), extract(epoch from created_at),
    coalesce(created_by, '-'), coalesce(write_id::text, '-'))), '' ORDER BY id)) FROM plants) AS plants,
  (SELECT count(*) FROM plants) AS count,
  (SELECT string_agg(concat_ws('|', id, name, encode(digest, 'hex'), array_to_string(scopes, ','), extract(epoch from created_at),
    extract(epoch from expires_at), extract(epoch from last_used_at), extract(epoch from revoked_at), coalesce(requests_per_minute::text, '-')), ' ' ORDER BY id) FROM access_tokens) AS tokens,
  (SELECT last_value FROM access_tokens_id_seq) AS sequence`;

const hasTerminals = spawnSync('script', ['--version']).status === 0;

/** A folder in which the service has run, with an embedded database. */
class Folder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async make(plants: number): Promise<Folder> {
    const folder = new Folder(await mkdtemp(join(tmpdir(), 'plant-store-move-')));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder.path, 0o755);
    // The first start makes the tables.
    await using service = await folder.serve();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    await folder.query(EXTREMES);
    await folder.query(SOME_PLANTS, [plants]);
    return folder;
  }

  serve(variables: Record<string, string> = {}): Promise<PlantStoreProcess> {
    const ports = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', ...variables };
    return new PlantStoreProcess(['serve'], { cwd: this.path, variables: ports }).listening();
  }

  run(...args: string[]): Promise<PlantStoreProcess> {
    return PlantStoreProcess.run(args, {}, { cwd: this.path });
  }

  /** Runs the embedded server for one statement. */
  async query(sql: string, values: unknown[] = []): Promise<Record<string, string>[]> {
    const directory = join(this.path, '.data');
    const server = await EmbeddedPostgres.start({ directory, settings: { fsync: 'off', full_page_writes: 'off' } });
    const client = new pg.Client(server.url);
    try {
      await client.connect();
      return (await client.query<Record<string, string>>(sql, values)).rows;
    } finally {
      await client.end();
      await server.stop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

const rowsIn = async ({ client }: BareDatabase, sql: string): Promise<Record<string, string>[]> =>
  (await client.query<Record<string, string>>(sql)).rows;

describe('plant-store move, with a million plants', () => {
  let folder: Folder;
  let target: BareDatabase;
  let token: string;
  let move: string[];

  beforeAll(async () => {
    target = await openBareDatabase();
    move = ['move', '--to', target.url];
    folder = await Folder.make(PLANTS);
    token = (await folder.run('token', 'create', 'me')).stdout.trim();
    for (const name of ['you', 'gone']) await folder.run('token', 'create', name);
    await folder.run('token', 'revoke', 'gone');
    await folder.run('token', 'update', 'you', '--rate-limit', '600');
  });
  afterAll(async () => {
    await folder[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });

  const copied = async (): Promise<number> => {
    const [{ known } = {}] = await rowsIn(target, `SELECT to_regclass('plants') IS NOT NULL AS known`);
    return known ? Number((await rowsIn(target, 'SELECT count(*) FROM plants'))[0]?.count) : 0;
  };

  it('should leave the folder as it was if it is killed in the middle', async () => {
    const killed = new PlantStoreProcess(move, { cwd: folder.path });
    await until(async () => (await copied()) > PLANTS / 4);
    // No command changes a token meanwhile.
    const source = new pg.Client(await runningServerUrl(join(folder.path, '.data')));
    await source.connect();
    const locks = `SELECT relation::regclass::text AS name FROM pg_locks WHERE mode = 'ShareLock' AND granted ORDER BY name`;
    expect((await source.query(locks)).rows).toEqual([{ name: 'access_tokens' }, { name: 'plants' }]);
    await source.end();
    killed.signal('SIGKILL');
    expect(await killed.ended).toBe('SIGKILL');
    expect(await copied()).toBeLessThan(PLANTS);
    expect(await readdir(join(folder.path, '.data'))).not.toContain('moved-to');

    // A service on the new database would lack plants.
    const early = await PlantStoreProcess.run('serve', { DATABASE_URL: target.url }, { cwd: folder.path });
    expect([early.output, await early.ended]).toEqual([
      expect.stringContaining('Run the same `plant-store move` again'),
      1,
    ]);

    // Its service runs on, creates a plant among those that were copied, and notes the use of a token.
    await using service = await folder.serve();
    expect((await service.post('{"id":-5,"name":"Late"}', bearer(token)))?.status).toBe(200);
    await folder.run('token', 'update', 'you', '--rate-limit', '700');
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should refuse if the service is not stopped', async () => {
    await using service = await folder.serve();
    const { stderr, ended } = await folder.run(...move);
    expect(stderr).toMatch(/Another plant store \(process \d+\) is running with the data in .*\. Stop it/);
    expect(await ended).toBe(1);
    service.signal('SIGTERM');
    await service.ended;
  });

  it('should go on with the same command, and copy everything exactly', async () => {
    const { stdout, stderr, ended } = await folder.run(...move);
    expect([stderr, await ended]).toEqual(['', 0]);
    expect(stdout).toMatch(/^1000006 plants and 3 access tokens are now in schema public of database \S+ at \S+/);
    expect(stdout).not.toContain(token);
    const [there] = await rowsIn(target, EVERYTHING);
    expect(there).toEqual((await folder.query(EVERYTHING))[0]);
    expect(there).toMatchObject({ count: '1000006', sequence: '3', tokens: expect.stringContaining('|700') });
    expect(await rowsIn(target, `SELECT to_regclass('plant_store_move') AS marker`)).toEqual([{ marker: null }]);
  });

  it.each(['serve', 'plants count', 'token list', 'doctor'])(
    'should have the folder say afterwards where its plants are: %s',
    async (command) => {
      const { stdout, stderr, ended } = await folder.run(...command.split(' '));
      expect(stdout + stderr).toMatch(
        /DATABASE_URL: is missing, should be the URL of the database that the plants were moved to: schema public of .*remove .*moved-to/,
      );
      expect(await ended).toBe(command === 'doctor' ? 1 : 78);
    },
  );

  it('should say at another move that there is nothing to do, and change nothing', async () => {
    const { stdout, ended } = await folder.run(...move);
    expect([stdout, await ended]).toEqual([expect.stringMatching(/were moved already, to schema public of/), 0]);
    const other = await folder.run(...move.map((each) => each.replace(/\/[^/]*$/, '/elsewhere')));
    expect([other.stderr, await other.ended]).toEqual([expect.stringContaining('were moved already'), 1]);
  });

  it('should have the new database serve the plants, the tokens and new ones', async () => {
    await using service = await folder.serve({ DATABASE_URL: target.url });
    expect((await service.post('{"id":7,"name":"Rose"}', bearer(token)))?.body).toContain('"error":40901');
    expect((await service.post('{"id":-7,"name":"Rose"}', bearer(token)))?.status).toBe(200);
    const made = await PlantStoreProcess.run('token create new', { DATABASE_URL: target.url }, { cwd: folder.path });
    expect(made.stderr).toContain('Access token new, with the id 4');
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('should start on the folder again once the mark is removed', async () => {
    await rm(join(folder.path, '.data/moved-to'));
    const { stdout } = await folder.run('plants', 'count');
    expect(stdout).toBe('1000006\n');
  });
});

describe('plant-store move', () => {
  let folder: Folder;
  let target: BareDatabase;

  beforeAll(async () => {
    folder = await Folder.make(12_000);
    target = await openBareDatabase();
  });
  afterAll(async () => {
    await folder[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });

  it('should refuse a folder in which nothing was ever started, and leave nothing behind', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'plant-store-move-'));
    const { stderr, ended } = await PlantStoreProcess.run(['move', '--to', target.url], {}, { cwd: empty });
    expect([stderr, await ended]).toEqual([expect.stringContaining('nothing was ever started in this folder'), 78]);
    expect(await readdir(empty)).toEqual([]);
    await rm(empty, { recursive: true });
  });

  it.each([
    [[], '--to is missing, should be the URL of the new PostgreSQL database'],
    [['--to', 'mysql://me:secret@host/plants'], '--to must be a PostgreSQL URL such as'],
  ])('should refuse the arguments %j, and print no password', async (args, message) => {
    const { stderr, ended } = await folder.run('move', ...args);
    expect([stderr, await ended]).toEqual([expect.stringContaining(message), 2]);
    expect(stderr).not.toContain('secret');
  });

  it('should refuse a database that is not in UTF-8, before it changes anything', async () => {
    await using odd = await openBareDatabase();
    const name = `${new URL(odd.url).pathname.slice(1)}_latin1`;
    await odd.client.query(`CREATE DATABASE "${name}" ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    try {
      const { stderr, ended } = await folder.run('move', '--to', odd.url.replace(/\/[^/]*$/, `/${name}`));
      expect([stderr, await ended]).toEqual([
        expect.stringMatching(/has the encoding LATIN1, should have UTF8.*ENCODING 'UTF8'/),
        1,
      ]);
    } finally {
      await odd.client.query(`DROP DATABASE "${name}" WITH (FORCE)`);
    }
  });

  it.each([
    ['plants', `INSERT INTO plants (id, name) VALUES (5, 'Rose')`, 'has plants of its own'],
    ['tokens', `INSERT INTO access_tokens (name, digest) VALUES ('me', '\\x00')`, 'has access tokens of its own'],
    ['the move of another folder', `CREATE TABLE plant_store_move AS SELECT '1' AS source`, 'has an unfinished move'],
  ])('should refuse a database with %s, and change nothing', async (_, statement, message) => {
    await using full = await openBareDatabase();
    const migrated = await PlantStoreProcess.run('migrate', { DATABASE_URL: full.url });
    expect(await migrated.ended).toBe(0);
    await full.client.query(statement);
    const before = await rowsIn(full, EVERYTHING);
    const { stderr, ended } = await folder.run('move', '--to', full.url);
    expect([stderr, await ended]).toEqual([expect.stringContaining(message), 1]);
    expect(stderr).toContain('should be empty');
    expect(await rowsIn(full, EVERYTHING)).toEqual(before);
  });

  it('should not read a view, which may run what its owner likes', async () => {
    await using foreign = await openBareDatabase();
    await foreign.client
      .query(`CREATE TABLE called (); CREATE FUNCTION call() RETURNS SETOF int8 LANGUAGE sql AS 'INSERT INTO called DEFAULT VALUES; SELECT 1::int8';
      CREATE VIEW plants AS SELECT call() AS id; CREATE VIEW plant_store_move AS SELECT call()::text AS source`);
    const { stderr, ended } = await folder.run('move', '--to', foreign.url);
    expect([stderr, await ended]).toEqual([expect.stringContaining('holds tables of another application: called'), 1]);
    expect(await rowsIn(foreign, 'SELECT FROM called')).toEqual([]);
  });

  it('should not read a table of another role, whose policies may run what they like', async () => {
    await using foreign = await openBareDatabase();
    const role = `stranger_${process.pid}`;
    await foreign.client.query(`CREATE ROLE ${role}; GRANT CREATE ON SCHEMA public TO ${role}; CREATE TABLE called ();
      GRANT INSERT ON called TO PUBLIC; SET ROLE ${role}; CREATE TABLE plant_store_move (source text);
      CREATE FUNCTION call() RETURNS bool LANGUAGE sql AS 'INSERT INTO called DEFAULT VALUES; SELECT true';
      CREATE POLICY p ON plant_store_move USING (call()); ALTER TABLE plant_store_move ENABLE ROW LEVEL SECURITY; RESET ROLE`);
    const { stderr, ended } = await folder.run('move', '--to', foreign.url);
    expect([stderr, await ended]).toEqual([expect.stringContaining('belongs to other roles'), 1]);
    expect(await rowsIn(foreign, 'SELECT FROM called')).toEqual([]);
    await foreign.client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it('should refuse the tables of another application', async () => {
    await using foreign = await openBareDatabase();
    await foreign.client.query('CREATE TABLE invoices ()');
    const { stderr, ended } = await folder.run('move', '--to', foreign.url);
    expect([stderr, await ended]).toEqual([
      expect.stringContaining('holds tables of another application: invoices'),
      1,
    ]);
  });

  it('should change no plant that another program has created meanwhile, and say which ids differ', async () => {
    await using busy = await openBareDatabase();
    const [{ id = '' } = {}] = await folder.query('SELECT system_identifier::text AS id FROM pg_control_system()');
    expect(await (await PlantStoreProcess.run('migrate', { DATABASE_URL: busy.url })).ended).toBe(0);
    // As an interrupted move leaves it.
    await busy.client.query(`CREATE TABLE plant_store_move AS SELECT '${id}' AS source`);
    await busy.client.query(`INSERT INTO plants (id, name) VALUES (6000, 'Foreign')`);
    await folder.run('token', 'create', 'early');
    const [{ digest = '' } = {}] = await folder.query(`SELECT digest::text FROM access_tokens WHERE name = 'early'`);
    await busy.client.query(`INSERT INTO access_tokens (name, digest, revoked_at) VALUES ('early', $1, now())`, [
      digest,
    ]);
    const { stderr, ended } = await folder.run('move', '--to', busy.url);
    expect(stderr).toMatch(/plants differ: with ids after \d+ up to \d+ .*move to another database/);
    expect(await ended).toBe(1);
    expect(await rowsIn(busy, 'SELECT name FROM plants WHERE id = 6000')).toEqual([{ name: 'Foreign' }]);
    expect(await rowsIn(busy, 'SELECT name FROM access_tokens WHERE revoked_at IS NULL')).toEqual([]);
    expect(await readdir(join(folder.path, '.data'))).not.toContain('moved-to');
  });

  it('should finish what was interrupted between the mark of the folder and the end', async () => {
    await using late = await openBareDatabase();
    const move = ['move', '--to', late.url];
    expect(await (await folder.run(...move)).ended).toBe(0);
    const [{ id = '' } = {}] = await folder.query('SELECT system_identifier::text AS id FROM pg_control_system()');
    await late.client.query(`CREATE TABLE plant_store_move AS SELECT '${id}' AS source`);
    const again = await folder.run(...move);
    expect([again.stdout, await again.ended]).toEqual([expect.stringContaining('were moved already'), 0]);
    expect(await rowsIn(late, `SELECT to_regclass('plant_store_move') AS marker`)).toEqual([{ marker: null }]);
    await rm(join(folder.path, '.data/moved-to'));
  });

  it('should take a password from a file, and a schema from the URL', async () => {
    const url = new URL(target.url);
    const password = join(folder.path, 'password');
    await writeFile(password, decodeURIComponent(url.password), { mode: 0o600 });
    url.password = '';
    url.searchParams.set('schema', 'Grüner "Garten"');
    await target.client.query(`CREATE SCHEMA "Grüner ""Garten"""`);
    // What a role or a database may have by default, and what must not count.
    const name = pg.escapeIdentifier(url.pathname.slice(1));
    for (const setting of ["bytea_output TO 'escape'", "timezone TO 'Asia/Kathmandu'", "datestyle TO 'German'"])
      await target.client.query(`ALTER DATABASE ${name} SET ${setting}`);
    await folder.run('token', 'create', 'me');
    const variables = { DATABASE_PASSWORD_FILE: password };
    const moved = await PlantStoreProcess.run(['move', '--to', url.href], variables, { cwd: folder.path });
    expect([moved.stderr, await moved.ended]).toEqual(['', 0]);
    expect(moved.stdout).toContain('schema Grüner "Garten" of database');
    expect(await rowsIn(target, 'SELECT count(*) FROM "Grüner ""Garten""".plants')).toEqual([{ count: '12005' }]);
    expect(await readFile(join(folder.path, '.data/moved-to'), 'utf8')).toContain('schema Grüner "Garten" of database');
    await rm(join(folder.path, '.data/moved-to'));
  });

  (hasTerminals ? it : it.skip)('should show on a terminal, and nowhere else, how far it is', async () => {
    const shown = new PlantStoreProcess(['move', '--to', target.url], { cwd: folder.path, terminal: true });
    expect(await shown.ended).toBe(0);
    expect(shown.output).toMatch(/Copying: 12005 plants, \d+\/s\S*\s+.*Comparing: 12005 plants, \d+\/s/s);
  });
});
