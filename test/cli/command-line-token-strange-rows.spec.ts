import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type ListedToken, TokenCommands } from '../support/tokens/token-commands.js';

describe('plant-store token, with rows that were written by hand', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    // With any date format of the server.
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`ALTER DATABASE "${name}" SET datestyle TO 'German'`);
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  /** A token with this in the place of one of its columns. */
  async function written(name: string, column: string, value: string | null): Promise<number> {
    const { id } = await commands.issue(name);
    await database.query(`UPDATE access_tokens SET ${column} = $2 WHERE id = $1`, [id, value]);
    return id;
  }

  async function told(...args: string[]): Promise<string> {
    const run = await commands.run(...args);
    expect([run.stderr, run.code]).toEqual(['', 0]);
    return run.stdout;
  }

  /** The row of the table, and the object, of what has an id. */
  async function listed(id: number): Promise<{ row: string; token: ListedToken | undefined }> {
    const [table, json] = [await told('list'), await told('list', '--json')];
    const row = table.split('\n').find((line) => line.startsWith(`${id} `)) ?? '';
    return { row, token: (JSON.parse(json) as ListedToken[]).find((token) => token.id === id) };
  }

  it('should list, rotate and revoke one without scopes', async () => {
    const id = await written('scopeless', 'scopes', null);
    const { row, token } = await listed(id);
    expect(row).toMatch(/ scopeless +- +\d{4}-/);
    expect(token).toMatchObject({ scopes: [] });
    const { told: remarks } = await commands.make('rotate', 'scopeless');
    expect(remarks).toContain('for nothing.');
    expect(remarks).toContain('this token cannot create plants');
    expect((await commands.list('scopeless')).at(-1)).toMatchObject({ scopes: [] });
    await told('revoke', 'scopeless');
  });

  it('should pass no control characters of a name or a scope on to a terminal', async () => {
    const name = 'a\u001b[31m\nb\u009b2J';
    const id = await written('steering', 'scopes', '{"\u001b[2J","c\u0085d"}');
    await database.query('UPDATE access_tokens SET name = $2 WHERE id = $1', [id, name]);
    const shown = 'a\\u001b[31m\\u000ab\\u009b2J';
    expect((await listed(id)).row).toContain(`${shown}   \\u001b[2J,c\\u0085d `);
    expect((await listed(id)).token).toMatchObject({ name, scopes: ['\u001b[2J', 'c\u0085d'] });
    expect(await told('list', '--json')).not.toMatch(/[^\P{Cc}\n]/u);

    const { told: remarks } = await commands.make('rotate', name);
    expect(remarks).toContain(`Access token ${shown}, with the id ${id + 1}, for \\u001b[2J c\\u0085d.`);
    expect(remarks).not.toMatch(/[^\P{Cc}\n]/u);
    expect(await told('revoke', String(id))).toBe(`Revoked the access token ${shown} with the id ${id}\n`);
    expect(await told('revoke', String(id))).toMatch(`The access token ${shown} with the id ${id} was revoked already`);
    expect(await told('revoke', name)).toBe(`Revoked the access token ${shown} with the id ${id + 1}\n`);
    expect(await commands.fail(1, 'rotate', name)).toBe(
      `plant-store: no access token with the name ${shown} is valid any more. ` +
        `Create one: plant-store token create ${shown}\n`,
    );
  });

  it('should have shown no digest, and each token only once', () => {
    commands.expectNothingTold();
  });
});
