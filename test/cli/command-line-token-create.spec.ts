import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CREATE_PLANTS } from '../../src/auth/token-verifier.js';
import { isWellFormedToken } from '../../src/auth/token-format.js';
import { parseExpiry } from '../../src/service/cli/token-arguments.js';
import { Migrator } from '../../src/database/migrator.js';
import { createOddDatabase, type TestDatabase } from '../support/database/test-database.js';
import { outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { type ListedToken, TokenCommands, withTokens } from '../support/tokens/token-commands.js';

const HOUR = 3600;
const DAY = 24 * HOUR;

describe('plant-store token create', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createOddDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should print the token alone, once, and tell the rest apart from it', async () => {
    const { token, told } = await commands.make('create', 'ci');
    expect(isWellFormedToken(token)).toBe(true);
    const { id, expiresAt, ...rest } = await commands.only('ci');
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
    expect(told).toContain('shown this once');
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
    // More than once: a sum that is not exact is wrong at some moments only.
    await withTokens(database.url, async (tokens) => {
      for (let i = 0; i < 10; i++) await tokens.create(`${name}-${i}`, [CREATE_PLANTS], parseExpiry(expires));
    });
    const rows = await database.query(
      `SELECT DISTINCT extract(epoch FROM expires_at - created_at)::float8 AS life, created_at <= clock_timestamp() AS past
       FROM access_tokens WHERE name LIKE $1`,
      [`${name}-%`],
    );
    expect(rows).toEqual([{ life: seconds, past: true }]);
  });

  it.each([
    ['2099-12-31', '2099-12-31T23:59:59.999Z'],
    ['2099-12-31T18:00Z', '2099-12-31T18:00:00.000Z'],
    ['2099-12-31T18:00:00+02:00', '2099-12-31T16:00:00.000Z'],
    ['never', null],
  ])('should have a token end at %s', async (expires, expiresAt) => {
    const name = `at-${expires}`;
    const { told } = await commands.make('create', name, '--expires', expires);
    expect(await commands.only(name)).toMatchObject({ expiresAt, state: 'valid' });
    expect(told).not.toContain('--expires');
    expect(told).toContain(expiresAt === null ? 'It never expires.' : `It expires at ${expiresAt.slice(0, 19)}Z.`);
  });

  it.each(['2020-01-01', '2020-01-01T00:00Z'])('should refuse to make a token that ended at %s', async (expires) => {
    const told = await commands.fail(1, 'create', 'late', '--expires', expires);
    expect(told).toBe('plant-store: the access token would have expired already: its end must be in the future\n');
    expect(await commands.list('late')).toEqual([]);
  });

  it('should take the scopes of an application in several ways, and say which ones the store knows', async () => {
    const scopes = ['--scope', 'plants:create,b:read', '--scope', 'c:read,b:read'];
    const several = await commands.make('create', 'several', ...scopes);
    expect(several.told).toContain('The store itself ignores b:read c:read.');
    expect(await commands.only('several')).toMatchObject({ scopes: ['plants:create', 'b:read', 'c:read'] });
    const other = await commands.make('create', 'other-scope', '--scope', 'orders:read');
    expect(other.told).toContain('As it lacks the scope plants:create, this token cannot create plants.');
    expect(await commands.only('other-scope')).toMatchObject({ scopes: ['orders:read'] });
  });

  it('should refuse a scope that there is not, say which there is, and make nothing', async () => {
    const told = await commands.fail(2, 'create', 'no-scope', '--scope', 'plants:craete');
    expect(told).toMatch(/^plant-store: .*'plants:craete' is invalid\. The store has one scope, plants:create;/);
    expect(await commands.list('no-scope')).toEqual([]);
  });

  it('should take the name as the other commands do', async () => {
    const { told } = await commands.make('create', 'named', '--expires', 'never');
    expect(told).toContain('Access token named, with the id');
    expect(await commands.fail(1, 'create', 'named')).toContain('a valid access token has the name named already');
  });

  it('should refuse the name of a valid token, and say which one that is and what to do', async () => {
    const { id } = await commands.issue('taken');
    expect(await commands.fail(1, 'create', 'taken')).toBe(
      `plant-store: a valid access token has the name taken already, with the id ${id}. Rotate it (plant-store token ` +
        'rotate taken), revoke it (plant-store token revoke taken), or choose another name\n',
    );
    expect(await commands.only('taken')).toMatchObject({ id });
  });

  it('should take the name of a token that has expired, or was revoked', async () => {
    await commands.issue('again');
    await database.query(`UPDATE access_tokens SET revoked_at = now() WHERE name = 'again'`);
    await commands.issue('again', { expires: '-1 second' });
    await commands.make('create', 'again');
    expect(await commands.states('again')).toEqual(['revoked', 'expired', 'valid']);
  });

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });
});

describe('plant-store token list', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createOddDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should list nothing, in a friendly way, if there are none', async () => {
    const [table, json] = await Promise.all([commands.run('list'), commands.run('list', '--json')]);
    expect(table.stdout).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE\n$/);
    expect(table.stderr).toMatch('plant-store token create NAME');
    expect(table.code).toBe(0);
    expect([json.stdout, json.code]).toEqual(['[]\n', 0]);
  });

  it('should list all in one table, in the order of their names, with times in UTC', async () => {
    await commands.issue('ends', { expires: '90 days', scopes: ['plants:create', 'orders:read'] });
    await commands.issue('at-2099-12-31T18:00Z');
    await commands.issue('ci');
    await database.query(`UPDATE access_tokens SET revoked_at = now() WHERE name = 'ci'`);
    await commands.issue('ci', { expires: '-1 second' });
    await commands.issue('ci');
    await commands.issue('again-and-again');
    await commands.issue('Zinnia');
    const [table, json] = await Promise.all([commands.run('list'), commands.run('list', '--json')]);
    expect(table.stderr).toBe('');
    const [header, ...rows] = table.stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE$/);
    const cells = rows.map((row) => row.split(/ {2,}/));
    const listed = JSON.parse(json.stdout) as ListedToken[];
    expect(listed).toEqual(await commands.list());
    expect(listed).toHaveLength(7);
    expect(cells.map(([id]) => Number(id))).toEqual(listed.map(({ id }) => id));
    const names = cells.map(([, name]) => name);
    expect(names).toEqual([...names].sort());
    expect(cells.map((row) => row[6])).toEqual(listed.map(({ state }) => state));
    expect(new Set(cells.map((row) => row[6]))).toEqual(new Set(['valid', 'expired', 'revoked']));
    for (const row of cells) {
      expect(row).toHaveLength(7);
      expect(row[3]).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
      expect(row[4]).toMatch(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z|never)$/);
    }
  });

  it('should tell when a token was last used', async () => {
    await commands.issue('used');
    await database.query(`UPDATE access_tokens SET last_used_at = '2030-01-02 03:04:00Z' WHERE name = 'used'`);
    const [table, json] = await Promise.all([commands.run('list'), commands.run('list', '--json')]);
    const used = (JSON.parse(json.stdout) as ListedToken[]).filter(({ name }) => name === 'used');
    expect(used).toMatchObject([{ lastUsedAt: '2030-01-02T03:04:00.000Z' }]);
    expect(table.stdout).toMatch(/ used .* 2030-01-02T03:04:00Z +valid$/m);
  });

  it('should keep the tokens of another schema apart', async () => {
    await new Migrator({ url: database.url, schema: 'Garden 2' }).migrate();
    const before = await commands.list();
    await commands.make('create', 'ci', '--schema', 'Garden 2');
    const url = new URL(database.url);
    url.searchParams.set('schema', 'Garden 2');
    const gardens = await Promise.all([
      commands.run('list', '--json', '--schema', 'Garden 2'),
      outcomeOfCommandLine('token list --json', { DATABASE_URL: url.href }),
    ]);
    for (const { stdout } of gardens) expect(JSON.parse(stdout)).toMatchObject([{ id: 1, name: 'ci' }]);
    expect(await commands.list()).toEqual(before);
  });

  it('should take the URL and the password of the database as serve does', async () => {
    const url = new URL(database.url);
    const DATABASE_PASSWORD = decodeURIComponent(url.password);
    url.password = '';
    const { stdout } = await outcomeOfCommandLine('token list --json', { DATABASE_URL: url.href, DATABASE_PASSWORD });
    expect(JSON.parse(stdout)).toEqual(await commands.list());
  });

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });
});
