import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { TokenCommands, withoutAudit } from '../support/tokens/token-commands.js';

/** Runs a shell script in the place of Node's own. */
const SHELL = `
  const [, script, ...args] = process.argv;
  process.exitCode = require('node:child_process').spawnSync('sh', ['-c', script, ...args], { stdio: 'inherit' }).status;
`;
const UNWRITABLE = 'standard output cannot be written to \\(ENOSPC.*\\)';

// Only there is a file that is always full.
(process.platform === 'linux' ? describe : describe.skip)('plant-store token, with nowhere to print to', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  /** @param rest redirects the output, after the command */
  async function run(command: string, rest = '; } >/dev/full'): Promise<{ stderr: string; code: number | string }> {
    const main = new URL('../../dist/main.js', import.meta.url).pathname;
    const script = `{ "$0" "$1" ${command}${rest}`;
    const ran = new PlantStoreProcess(['-e', SHELL, script, process.execPath, main], {
      script: '--input-type=commonjs',
      variables: { DATABASE_URL: database.url },
    });
    return { code: await ran.ended, stderr: withoutAudit(ran.stderr) };
  }

  const expectFailure = async (command: string, message: string): Promise<void> => {
    const { code, stderr } = await run(command);
    expect(stderr).toMatch(new RegExp(`^plant-store: ${message}\n$`));
    expect(code).toBe(1);
  };

  it('should say that nobody has the token that was created, and to revoke it', async () => {
    const { code, stderr } = await run('token create  unprinted');
    const { id } = await commands.only('unprinted');
    expect(stderr).toMatch(
      new RegExp(
        `^plant-store: the access token unprinted with the id ${id} was made, but could not be printed \\(ENOSPC.*\\)\\. ` +
          `As nobody has it now, revoke it: plant-store token revoke ${id}\n$`,
      ),
    );
    expect(code).toBe(1);
  });

  it.each([
    ['0', (): string => 'is revoked'],
    ['2h', (end: string): string => `stays valid until ${end}`],
  ])('should say the result for the old one if a rotation with an overlap of %s was in vain', async (overlap, fate) => {
    const name = `unprinted-${overlap}`;
    const { id: oldId } = await commands.issue(name, { expires: '90 days' });
    const { code, stderr } = await run(`token rotate ${name} --overlap ${overlap}`);
    const [old, made] = await commands.list(name);
    expect(stderr).toMatch(
      new RegExp(
        `^plant-store: the access token ${name} with the id ${made?.id} was made, but could not be printed \\(ENOSPC.*\\)\\. ` +
          `The one with the id ${oldId} ${fate(`${old?.expiresAt?.slice(0, 19)}Z`)}\\. As nobody has it now, ` +
          `rotate again \\(plant-store token rotate ${name}\\), and then revoke it: plant-store token revoke ${made?.id}\n$`,
      ),
    );
    expect(code).toBe(1);
    // What it advises works.
    await commands.make('rotate', name);
    expect((await commands.run('revoke', String(made?.id))).code).toBe(0);
    expect((await commands.states(name)).slice(1)).toEqual(['revoked', 'valid']);
  });

  it('should fail to list', async () => {
    await commands.issue('listed');
    await expectFailure('token list', UNWRITABLE);
    await expectFailure('token list --json', UNWRITABLE);
  });

  it('should tell what was revoked all the same', async () => {
    const { id } = await commands.issue('told');
    await expectFailure(
      'token revoke told',
      `${UNWRITABLE}, which was to say:\nRevoked the access token told with the id ${id}`,
    );
  });

  it('should fail to print the OpenAPI document', () => expectFailure('openapi', UNWRITABLE));

  it('should not complain of a reader that has read enough, unless it was to have a token', async () => {
    expect((await run('token list; echo "and $?" >&2', '; } | :')).stderr).toBe('and 0\n');
    const { stderr } = await run('token create  unread; echo "and $?" >&2', '; } | :');
    expect(stderr).toMatch(
      /^plant-store: the access token unread .* could not be printed \(.*EPIPE.*\)\. .*\nand 1\n$/,
    );
  });
});

describe('plant-store token create, and who else could have the token', () => {
  let database: TestDatabase;
  let commands: TokenCommands;

  beforeAll(async () => {
    database = await createTestDatabase();
    commands = new TokenCommands(database);
  });
  afterAll(() => database.drop());

  it('should store the digest of the token, and the token nowhere', async () => {
    const { token } = await commands.make('create', 'stored');
    const [row] = await database.query<{ digest: Buffer }>(`SELECT digest FROM access_tokens WHERE name = 'stored'`);
    expect(row?.digest).toEqual(createHash('sha256').update(token).digest());
    const tables = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toContain('access_tokens');
    for (const { name } of tables) {
      const rows = await database.query<{ text: string }>(`SELECT t::text AS text FROM "${name}" t`);
      for (const { text } of rows) {
        // In any form: bytes are printed in hexadecimal.
        expect(text).not.toContain(token.slice(6, 20));
        expect(text).not.toContain(Buffer.from(token.slice(6, 20)).toString('hex'));
      }
    }
  });
});
