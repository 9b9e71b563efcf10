import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Migrator } from '../../src/database/migrations/migrator.js';
import { TableLock } from '../support/database/table-lock.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../support/service/run-command-line.js';

const IDS = ['-9223372036854775808', '-5', '0', '9007199254740993', '9223372036854775807'];
const STEERING = 'a\u001b[31m\nb\u009b2J\u2028c';
const MOMENT = '2030-01-02T03:04:05.678901Z';

describe('plant-store plants', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
    const name = new URL(database.url).pathname.slice(1);
    // With any date format of the server.
    await database.query(`ALTER DATABASE "${name}" SET datestyle TO 'German'`);
    await database.query(`ALTER DATABASE "${name}" SET timezone TO 'America/New_York'`);
    for (const id of IDS) {
      await database.query(
        `INSERT INTO plants (id, name, tag, created_at, created_by, idempotency_key) VALUES ($1, $2, $3, $4, $5, 'key')`,
        [id, `Rose ${id}`, ...(id === '-5' ? ['', MOMENT, 'shop'] : [null, '2030-01-02 03:04:05Z', null])],
      );
    }
  });
  afterAll(() => database.drop());

  const run = (command: string | string[], variables: Record<string, string> = {}): Promise<CommandOutcome> =>
    outcomeOfCommandLine(['plants', ...(typeof command === 'string' ? command.split(' ') : command)], {
      DATABASE_URL: database.url,
      ...variables,
    });

  async function printed(command: string | string[], variables?: Record<string, string>): Promise<string> {
    const { code, stdout, stderr } = await run(command, variables);
    expect([stderr, code]).toEqual(['', 0]);
    return stdout;
  }

  async function failure(
    code: number,
    command: string | string[],
    variables?: Record<string, string>,
  ): Promise<string> {
    const failed = await run(command, variables);
    expect([failed.stdout, failed.code]).toEqual(['', code]);
    expect(failed.stderr).toMatch(/^plant-store: /);
    expect(failed.stderr).not.toMatch(/\n\s+at /);
    return failed.stderr;
  }

  describe('list', () => {
    it('should show plants in the order of their ids, which are exact', async () => {
      const [header, ...rows] = (await printed('list')).trimEnd().split('\n');
      expect(header).toMatch(/^ID +NAME +TAG +CREATED AT +CREATED BY$/);
      expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual(IDS);
      expect(rows[1]).toMatch(/^-5 +Rose -5 +2030-01-02T03:04:05\.678901Z +shop$/);
      expect(rows[2]).toMatch(/^0 +Rose 0 +- +2030-01-02T03:04:05Z +-$/);
    });

    it('should print JSON without what a plant lacks, and every digit of an id', async () => {
      const json = await printed('list --json');
      expect([...json.matchAll(/"id":(-?\d+)/g)].map(([, id]) => id)).toEqual(IDS);
      expect(json).toContain(`\n  {"id":-5,"name":"Rose -5","tag":"","createdAt":"${MOMENT}","createdBy":"shop"},\n`);
      expect(json).toContain('\n  {"id":0,"name":"Rose 0","createdAt":"2030-01-02T03:04:05Z"},\n');
      expect(JSON.parse(json)).toHaveLength(5);
    });

    it('should say how to go on, and go on from any id', async () => {
      const seen: string[] = [];
      for (let command = 'list --limit 2 --json'; ;) {
        const { stdout, stderr, code } = await run(command);
        expect(code).toBe(0);
        seen.push(...[...stdout.matchAll(/"id":(-?\d+)/g)].map(([, id = '']) => id));
        if (stderr === '') break;
        const [, after] = /^There are more plants: plant-store plants list (--after=-?\d+)\n$/.exec(stderr) ?? [];
        command = `list --limit 2 --json ${after}`;
      }
      expect(seen).toEqual(IDS);
      expect(await printed('list --json --after -6 --limit 4')).toMatch(/^\[\n {2}\{"id":-5,[^]*5807,.*\}\n\]\n$/);
      expect(await printed('list --json --after=9223372036854775807')).toBe('[]\n');
      expect(await printed('list --after=9223372036854775807')).toMatch(/^ID +NAME .*\n$/);
    });

    it('should end a page early if its plants are large, and go on behind it', async () => {
      const own = await createTestDatabase();
      await own.query(
        `INSERT INTO plants (id, name) SELECT id, repeat('x', 1000000) FROM generate_series(1, 12) AS id`,
      );
      const { stdout, stderr } = await run('list --json', { DATABASE_URL: own.url });
      expect([...stdout.matchAll(/"id":(\d+)/g)].map(([, id]) => id)).toEqual(['1', '2', '3', '4', '5']);
      expect(stderr).toMatch('plants list --after=5');
      expect((await printed('export', { DATABASE_URL: own.url })).match(/"id":/g)).toHaveLength(12);
      // In a table a text has one line, and not all of its characters.
      const { stdout: table } = await run('list --limit 1', { DATABASE_URL: own.url });
      expect(table).toMatch(/\n1 +x{39}… +- /);
      await own.drop();
    });

    it('should pass no control characters on to a terminal', async () => {
      const own = await createTestDatabase();
      await own.query(`INSERT INTO plants (id, name, tag) VALUES (1, $1, $1)`, [STEERING]);
      for (const command of ['list', 'list --json', 'get 1', 'export']) {
        const text = await printed(command, { DATABASE_URL: own.url });
        expect(text).not.toMatch(/[^\P{Cc}\n]|\u2028/u);
        if (command !== 'list') expect([JSON.parse(text)].flat()).toMatchObject([{ name: STEERING, tag: STEERING }]);
      }
      await own.drop();
    });
  });

  describe('get', () => {
    it.each(IDS)('should print the plant %s', async (id) => {
      expect(await printed(['get', id])).toMatch(new RegExp(`^\\{"id":${id},"name":"Rose ${id}",.*\\}\n$`));
    });

    it('should fail if there is none', async () => {
      expect(await failure(1, 'get 7')).toBe('plant-store: there is no plant with the id 7\n');
    });
  });

  it.each([
    ['get', 'ID is missing behind plants get'],
    ['get 9223372036854775808', 'ID is "9223372036854775808", should be an integer from -9223372036854775808 to 92'],
    ['get rose', 'ID is "rose", should be an integer'],
    ['get 5.5', 'ID is "5.5", should be an integer'],
    ['get 1 -2', 'plants get takes no "-2"'],
    ['list --after -9223372036854775809', '--after is "-9223372036854775809", should be an integer'],
    ['list --after=', '--after is "", should be an integer'],
    ['list --limit 0', '--limit is "0", should be a number from 1 to 10000'],
    ['list --limit -5', '--limit is "-5", should be'],
    ['list --limit 10001', '--limit is "10001", should be'],
    ['list --limit 1e3', '--limit is "1e3", should be'],
    ['list --limti 5', 'there is no option "--limti": did you mean "--limit"?'],
    ['exprot', 'there is no command "plants exprot": did you mean "plants export"?'],
    ['export --after x', '--after is "x", should be an integer'],
  ])('should refuse "plants %s", and exit with 2', async (command, reason) => {
    expect(await failure(2, command)).toContain(`plant-store: ${reason}`);
  });

  describe('count', () => {
    it('should count', async () => {
      expect(await printed('count')).toBe('5\n');
    });

    it('should estimate once the table was analyzed, and until then say what to do', async () => {
      const own = await createTestDatabase();
      await own.query('ALTER TABLE plants SET (autovacuum_enabled = off)');
      await own.query(`INSERT INTO plants (id, name) SELECT id, 'Rose' FROM generate_series(1, 1000) AS id`);
      const variables = { DATABASE_URL: own.url };
      expect(await failure(1, 'count --estimate', variables)).toMatch(
        /no estimate.*run ANALYZE plants, or count without/,
      );
      await own.query('ANALYZE plants');
      expect(await printed('count --estimate', variables)).toBe('1000\n');
      await own.drop();
    });
  });

  describe('export', () => {
    it('should print all plants, one on each line', async () => {
      const lines = (await printed('export')).split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => /^\{"id":(-?\d+),.*\}$/.exec(line)?.[1])).toEqual(IDS);
      expect((await printed('export --after -5')).split('\n')).toEqual([...lines.slice(2), '']);
    });

    it('should print the plants of one moment, and say how many it has printed if it can no more', async () => {
      const own = await createTestDatabase();
      const first = 770_000_000;
      await own.query(
        `INSERT INTO plants (id, name) SELECT id, 'Rose' FROM generate_series($1::int, $1 + 11999) AS id`,
        [first],
      );
      // The reader may take longer than the server would let a transaction wait.
      const name = new URL(own.url).pathname.slice(1);
      await own.query(`ALTER DATABASE "${name}" SET idle_in_transaction_session_timeout TO '1ms'`);
      const proxy = await TcpProxy.start(own.url);
      const DATABASE_URL = proxy.url;
      const idsOf = (text: string): number[] => [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
      const all = Array.from({ length: 12_000 }, (_, index) => first + index);
      expect(idsOf(await printed('export', { DATABASE_URL }))).toEqual(all);

      // The first page ends with this id, and the statement for the next one has it.
      proxy.loseAnswerTo(String(first + 4999));
      const { code, stdout, stderr } = await run('export', { DATABASE_URL });
      expect(code).toBe(1);
      expect(idsOf(stdout)).toEqual(all.slice(0, 5000));
      expect(stderr).toMatch(/^plant-store: schema public of .*\. 5000 plants were written\. /);
      const [, after = ''] = /plant-store plants export (--after=\d+)\n$/.exec(stderr) ?? [];
      expect(idsOf(await printed(`export ${after}`, { DATABASE_URL }))).toEqual(all.slice(5000));
      await proxy.close();
      await own.drop();
    });
  });

  it('should need no right but to read the plants', async () => {
    const role = `reader_${randomBytes(4).toString('hex')}`;
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'secret';
    const variables = { DATABASE_URL: url.href };
    const commands = ['list', 'get 0', 'count', 'export'];
    for (const command of commands) {
      expect(await failure(1, command, variables)).toMatch(
        /lacks rights\. .*GRANT SELECT ON public\.plants TO reader_/,
      );
    }
    await database.query(`GRANT SELECT ON plants TO ${role}`);
    for (const command of commands) await printed(command, variables);
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it('should read a database that is read-only, as a standby is, and another schema', async () => {
    const own = await createTestDatabase();
    await new Migrator({ url: own.url, schema: 'Garden 2' }).migrate();
    await own.query(`INSERT INTO "Garden 2".plants (id, name) VALUES (2, 'Tulip')`);
    await own.query(`ALTER DATABASE "${new URL(own.url).pathname.slice(1)}" SET default_transaction_read_only TO on`);
    const variables = { DATABASE_URL: own.url };
    for (const command of ['list --json', 'get 2', 'export']) {
      expect(await printed([...command.split(' '), '--schema', 'Garden 2'], variables)).toContain('"name":"Tulip"');
    }
    for (const [schema, count] of [
      ['Garden 2', '1\n'],
      ['public', '0\n'],
    ])
      // prettier-ignore
      expect(await printed(['count', '--schema', schema ?? ''], variables)).toBe(count);
    await own.drop();
  });

  it('should say how to migrate a database without the tables', async () => {
    const bare = await createTestDatabase({ migrated: false });
    for (const command of ['list', 'count --estimate'])
      expect(await failure(1, command, { DATABASE_URL: bare.url })).toMatch(
        /is not migrated.*Run `plant-store migrate`/,
      );
    await bare.drop();
  });

  it('should let the server limit how long a statement may take', async () => {
    const lock = await TableLock.take(database);
    const url = new URL(database.url);
    url.searchParams.set('options', '-c statement_timeout=300');
    expect(await failure(1, 'count', { DATABASE_URL: url.href })).toMatch(
      'canceling statement due to statement timeout',
    );
    await lock.release();
  });
});
