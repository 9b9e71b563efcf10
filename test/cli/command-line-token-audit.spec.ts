import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { userInfo } from 'node:os';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../support/service/run-command-line.js';

describe('the audit of plant-store token', () => {
  let database: TestDatabase;
  let role: string;
  let proxy: TcpProxy;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    [{ role } = { role: '' }] = await database.query<{ role: string }>('SELECT current_user::text AS role');
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  const run = (command: string, variables: Record<string, string> = {}): Promise<CommandOutcome> =>
    outcomeOfCommandLine(`token ${command}`, { DATABASE_URL: database.url, ...variables });
  const json = ({ stderr }: CommandOutcome): Record<string, unknown> =>
    JSON.parse(stderr.split('\n').find((text) => text.startsWith('{')) ?? '{}') as Record<string, unknown>;
  const { username } = userInfo();

  it('should say who changed which tokens, in a line of the log', async () => {
    const made = await run('create shop');
    const by = `by ${username} as the role ${role}`;
    expect(made.stderr).toMatch(new RegExp(`^\\S+Z {2}info \\[Audit\\] token create: shop \\(id 1\\), ${by}$`, 'm'));
    const rotated = await run('rotate shop');
    expect(rotated.stderr).toContain(` token rotate: shop (id 2), shop (id 1), ${by}\n`);
    expect((await run('revoke shop')).stderr).toContain(` token revoke: shop (id 1), shop (id 2), ${by}\n`);
    for (const { stdout, stderr } of [made, rotated]) expect(stderr).not.toContain(stdout.trim());
  });

  it('should say it in JSON on demand', async () => {
    const made = await run('create farm --json');
    const [stored] = await database.query("SELECT id::float8 AS id FROM access_tokens WHERE name = 'farm'");
    expect(json(made)).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      level: 'info',
      context: 'Audit',
      message: 'token create',
      tokens: [{ ...stored, name: 'farm' }],
      user: username,
      role,
    });
    expect(made.stderr).not.toContain(made.stdout.trim());
  });

  it('should say it of a change that the database does not confirm, and that', async () => {
    const lost = (command: string): Promise<CommandOutcome> => {
      proxy.loseAnswerTo('COMMIT\0');
      return run(command, { DATABASE_URL: proxy.url });
    };
    const made = await lost('create lost');
    expect(made.stderr).toMatch(/ info \[Audit\] token create: lost \(id \d+\), by .* as the role .*, unconfirmed\n/);
    expect(made.stderr).toContain('\nplant-store: whether the change was made is not known');
    const tokens = await database.query("SELECT id::float8 AS id, name FROM access_tokens WHERE name = 'lost'");
    const revoked = await lost('revoke lost --json');
    expect(json(revoked)).toMatchObject({ message: 'token revoke', tokens, outcome: 'unconfirmed' });
    expect((await lost('revoke lost')).stderr).not.toContain('Audit');
    // It was undone before the end, so nothing is to be said.
    proxy.loseAnswerTo('INSERT');
    expect((await run('create other', { DATABASE_URL: proxy.url })).stderr).not.toContain('Audit');
  });

  it('should say nothing if nothing was changed', async () => {
    expect((await run('revoke shop')).stderr).toBe('');
    expect((await run('list')).stderr).not.toContain('Audit');
  });
});
