import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, type ExecFileException } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = (name: string) => fileURLToPath(new URL(`../../deploy/docker/${name}`, import.meta.url));

async function run(file: string, args: string[] = [], env: Record<string, string> = {}) {
  return new Promise<{ code: ExecFileException['code']; output: string }>((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, output: stdout + stderr });
    });
  });
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'container-scripts-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('credentials.mjs', () => {
  const shared = () => join(folder, 'shared');
  const owners = () => join(folder, 'owners');
  const read = (path: string) => readFileSync(join(folder, path), 'utf8').trimEnd();
  const mode = (path: string) => statSync(join(folder, path)).mode & 0o777;
  const provide = (env?: Record<string, string>) => run(script('credentials.mjs'), [shared(), owners()], env);

  beforeEach(() => {
    mkdirSync(shared());
    mkdirSync(owners());
  });

  it('should make two database passwords, and no access token, for those who need them alone, and not show them', async () => {
    const { code, output } = await provide();

    expect(code).toBe(0);
    expect([readdirSync(shared()), readdirSync(owners())]).toEqual([['database-password'], ['database-password']]);
    const passwords = ['shared', 'owners'].map((name) => read(`${name}/database-password`));
    expect(new Set(passwords).size).toBe(2);
    for (const password of passwords) {
      expect(password).toMatch(/^[\w-]{43}$/);
      expect(output).not.toContain(password);
    }
    expect([mode('shared/database-password'), mode('owners/database-password')]).toEqual([0o440, 0o440]);
  });

  it.each([
    ['DATABASE_PASSWORD', 'shared/database-password', 'owners/database-password'],
    ['MIGRATION_DATABASE_PASSWORD', 'owners/database-password', 'shared/database-password'],
  ])('should keep a password that is there, and take the %s that is given', async (name, path, other) => {
    await provide();
    const made = read(path);
    const others = read(other);
    await provide();
    expect(read(path)).toBe(made);

    await provide({ [name]: 'my own', [`${name}_FILE`]: '' });
    expect(read(path)).toBe('my own');
    await provide();
    expect([read(path), read(other)]).toEqual(['my own', others]);
  });

  it.each(['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE'])(
    'should have static access tokens as long as %s gives them',
    async (name) => {
      const own = join(folder, 'own');
      writeFileSync(own, 'my-own-token-my-own-token\n');
      const given = { [name]: name.endsWith('_FILE') ? own : 'my-own-token-my-own-token' };
      const { code, output } = await provide(given);

      expect(code).toBe(0);
      expect(read('shared/access-tokens')).toBe('my-own-token-my-own-token');
      expect(mode('shared/access-tokens')).toBe(0o400);
      expect(output).not.toContain('my-own');

      await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
      expect(readdirSync(shared())).toEqual(['database-password']);
    },
  );

  it('should name every fault at once, and then write nothing', async () => {
    const { code, output } = await provide({
      DATABASE_PASSWORD: 'my own',
      DATABASE_PASSWORD_FILE: script('none'),
      MIGRATION_DATABASE_PASSWORD_FILE: join(folder, 'no-such-file'),
      ACCESS_TOKENS_FILE: script('none'),
    });

    expect(code).toBe(1);
    expect(output).toBe(
      'DATABASE_PASSWORD: is set, and so is DATABASE_PASSWORD_FILE: should be one of the two\n' +
        'MIGRATION_DATABASE_PASSWORD_FILE: cannot be read (ENOENT), should be a file that user ' +
        `${String(process.getuid?.())} may read\n` +
        'ACCESS_TOKENS_FILE: is empty, should be a file that holds the secret\n',
    );
    expect([...readdirSync(shared()), ...readdirSync(owners())]).toEqual([]);
  });
});

describe('healthcheck.mjs', () => {
  it.each([
    [200, 0],
    [503, 1],
  ])('should turn status %d into exit code %d, and tell the answer', async (status, code) => {
    const server = createServer((request, response) => {
      response.writeHead(status).end(`asked for ${String(request.url)}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const MANAGEMENT_PORT = String((server.address() as AddressInfo).port);
      const result = await run(script('healthcheck.mjs'), [], { MANAGEMENT_PORT, MANAGEMENT_HOST: '0.0.0.0' });

      expect(result).toEqual({ code, output: 'asked for /readyz' });
    } finally {
      server.close();
    }
  });

  it('should fail without an answer', async () => {
    const { code, output } = await run(script('healthcheck.mjs'), [], { MANAGEMENT_PORT: '1' });

    expect(code).toBe(1);
    expect(output).toContain('ECONNREFUSED');
  });
});
