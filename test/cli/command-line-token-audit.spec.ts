import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { userInfo } from 'node:os';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type CommandOutcome, outcomeOfCommandLine } from '../support/service/run-command-line.js';

describe('the audit of plant-store token', () => {
  let database: TestDatabase;
  let role: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    [{ role } = { role: '' }] = await database.query<{ role: string }>('SELECT current_user::text AS role');
  });
  afterAll(() => database.drop());

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

  it('should say nothing if nothing was changed', async () => {
    expect((await run('revoke shop')).stderr).toBe('');
    expect((await run('list')).stderr).not.toContain('Audit');
  });
});
