import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type ListedToken, TokenCommands } from '../support/tokens/token-commands.js';

const MOMENT = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;

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

  it.each([
    ['forever', 'infinity', 'never', null],
    ['far', '290000-01-01 00:00:00Z', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59.999Z'],
    ['later', '10000-01-01 00:00:00Z', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59.999Z'],
  ])('should list, rotate and revoke one that ends %s', async (name, end, shown, expiresAt) => {
    const id = await written(name, 'expires_at', end);
    const { row, token } = await listed(id);
    expect(row).toMatch(new RegExp(` ${MOMENT} +${shown} +- +valid$`));
    expect(token).toMatchObject({ id, expiresAt, state: 'valid' });

    const { told: remarks } = await commands.make('rotate', name);
    expect(remarks).toMatch(new RegExp(`^The one with the id ${id} stays valid until ${MOMENT}\\.$`, 'm'));
    expect(remarks).toContain(expiresAt === null ? 'It never expires.' : `It expires at ${shown}.`);
    expect((await commands.list(name)).at(-1)).toMatchObject({ expiresAt, state: 'valid' });

    expect((await told('revoke', name)).split('\n')).toHaveLength(3);
    expect(await commands.states(name)).toEqual(['revoked', 'revoked']);
  });

  it.each([
    ['-infinity', '0001-01-01T00:00:00Z'],
    ['0044-03-15 12:00:00Z BC', '0001-01-01T00:00:00Z'],
    ['0033-04-03 15:00:00Z', '0033-04-03T15:00:00Z'],
  ])('should say of one that ended at %s that it ended long ago', async (end, shown) => {
    const id = await written(`past${end.slice(0, 4)}`, 'expires_at', end);
    expect((await listed(id)).row).toMatch(new RegExp(` ${shown} +- +expired$`));
    expect(await told('revoke', String(id))).toMatch(`has expired already, at ${shown}\n`);
    expect(await commands.fail(1, 'rotate', `past${end.slice(0, 4)}`)).toMatch('is valid any more');
  });

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
