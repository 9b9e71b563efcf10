import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { expectFailure, outcomeOfCommandLine } from '../support/service/run-command-line.js';
import { digestForms } from '../support/tokens/issued-token.js';

const ISSUED_TOKEN = /^plant_[0-9A-Za-z]{38}\n$/;
const HEADER = 'ID NAME SCOPES CREATED EXPIRES LAST USED STATE';

interface Row {
  readonly id: number;
  readonly name: string;
  readonly scopes: string;
  /** Seconds from the creation to the end, if it has one. */
  readonly life: number;
  readonly state: string;
}

/** The rows of a table that was printed, without its header. */
function rowsOf(text: string): Row[] {
  const [header, ...lines] = text.split('\n').filter((line) => /^(?:ID|\d+) {3,}/.test(line));
  expect(header?.replace(/ +/g, ' ')).toBe(HEADER);
  return lines.map((line) => {
    const [id, name = '', scopes = '', created = '', expires = '', , state = ''] = line.split(/ {3,}/);
    return { id: Number(id), name, scopes, life: (Date.parse(expires) - Date.parse(created)) / 1000, state };
  });
}

describe('plant-store token', () => {
  let database: TestDatabase;
  const made: string[] = [];
  const outputs: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  async function run(command: string, name: string[] = []): Promise<{ stdout: string; stderr: string }> {
    const args = ['token', ...command.split(' '), ...name];
    const { code, stdout, stderr } = await outcomeOfCommandLine(args, { DATABASE_URL: database.url });
    outputs.push(stderr, ISSUED_TOKEN.test(stdout) ? '' : stdout);
    expect([stderr, code]).toEqual([expect.any(String), 0]);
    return { stdout, stderr };
  }
  /** Runs what makes a token, and expects it to print that alone. Returns what it says of it, and of those that it replaces. */
  async function make(command: string): Promise<Row[]> {
    const { stdout, stderr } = await run(command);
    expect(stdout).toMatch(ISSUED_TOKEN);
    expect(stderr).toContain('The token is shown this once');
    expect(stderr.includes('cannot create plants')).toBe(command.includes('orders:read'));
    made.push(stdout.trim());
    return rowsOf(stderr);
  }
  const listed = async (name: string): Promise<Row[]> =>
    rowsOf((await run('list')).stdout).filter((row) => row.name === name);
  const fail = (command: string, ...reasons: (string | RegExp)[]): Promise<void> =>
    expectFailure(`token ${command}`, { DATABASE_URL: database.url }, ...reasons);

  it('should list nothing, and say how to create a token', async () => {
    const { stdout, stderr } = await run('list');
    expect(rowsOf(stdout)).toEqual([]);
    expect(stderr).toContain('plant-store token create NAME');
  });

  it.each<[string, number, string]>([
    ['usual', 90 * 86_400, 'plants:create'],
    ['short --expires 30m', 1800, 'plants:create'],
    ['eternal --expires never', NaN, 'plants:create'],
    ['of-a-host --scope orders:read --expires 1y', 365 * 86_400, 'orders:read'],
    ['several --scope plants:create,b:read --scope c:read', 90 * 86_400, 'plants:create,b:read,c:read'],
  ])('should create the token %s, print it alone, this once, and list it', async (options, life, scopes) => {
    const [name = ''] = options.split(' ');
    const row = { id: expect.any(Number), name, scopes, life, state: 'valid' };
    expect(await make(`create ${options}`)).toEqual([row]);
    expect(await listed(name)).toEqual([row]);
  });

  it('should refuse the name of a valid token, rotate that, and revoke one or all of its name', async () => {
    const [old] = await listed('several');
    await fail('create several', `has the name several already, with the id ${old?.id ?? 0}. Rotate it`);
    const [ending, successor] = await make('rotate several --overlap 2h');
    expect([ending?.id, successor?.scopes, successor?.life]).toEqual([old?.id, old?.scopes, old?.life]);
    expect(Math.abs((ending?.life ?? 0) - 7200)).toBeLessThan(60);
    for (const what of [String(successor?.id), 'several']) {
      const { stdout } = await run(`revoke ${what}`);
      expect(rowsOf(stdout)).toMatchObject([{ id: (what === 'several' ? ending : successor)?.id, state: 'revoked' }]);
    }
    expect(rowsOf((await run('revoke several')).stdout).map(({ state }) => state)).toEqual(['revoked', 'revoked']);
    await fail('rotate several', 'is valid any more. Create one: plant-store token create');
    expect((await make('rotate eternal --overlap 0')).map(({ state }) => state)).toEqual(['revoked', 'valid']);
    await fail('revoke nobody', 'there is no access token with the name "nobody". See plant-store token list');
  });

  it('should pass what was written by hand on to no terminal, and take rows without scopes', async () => {
    const name = 'a\u001b[31m\nb\u009b2J';
    await database.query("UPDATE access_tokens SET scopes = NULL, name = $1 WHERE name = 'usual'", [name]);
    expect((await run('list')).stdout).toMatch(/ a\\u001b\[31m\\u000ab\\u009b2J +- +.* valid$/m);
    await run('rotate', [name]);
    await run('revoke', [name]);
    for (const output of outputs) expect(output).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('should have shown no digest, and each token only once', () => {
    expect(made.length).toBeGreaterThan(5);
    for (const token of made)
      for (const secret of [token.slice(6, 20), ...digestForms(token)]) expect(outputs.join()).not.toContain(secret);
  });
});
