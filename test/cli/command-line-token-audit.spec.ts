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

  it('should say nothing if nothing was changed', async () => {
    expect((await run('revoke shop')).stderr).toBe('');
    expect((await run('list')).stderr).not.toContain('Audit');
  });
});
