import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Migrator } from '../src/database/migrator.js';
import { createOddDatabase } from './support/odd-database.js';
import { outcomeOfCommandLine } from './support/run-command-line.js';
import type { TestDatabase } from './support/test-database.js';
import { type ListedToken, TokenCommands } from './support/token-commands.js';

describe('plant-store token list', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createOddDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should list nothing, in a friendly way, where there are none', async () => {
    const [table, json] = await Promise.all([commands.run('list'), commands.run('list', '--json')]);
    expect(table.stdout).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED +STATE\n$/);
    expect(table.stderr).toMatch('plant-store token create --name NAME');
    expect(table.code).toBe(0);
    expect([json.stdout, json.code]).toEqual(['[]\n', 0]);
  });

  it('should list all in one table, in the order of their names, with times in UTC', async () => {
    await commands.issue('ends', { expires: '90 days', scopes: ['plants:create', 'plants:read'] });
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
    await commands.make('create', '--name', 'ci', '--schema', 'Garden 2');
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

  it('should have told no token and no digest but where it was made', () => {
    commands.expectNothingTold();
  });
});
