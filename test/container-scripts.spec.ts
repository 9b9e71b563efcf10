import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, type ExecFileException } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = (name: string) => fileURLToPath(new URL(`../docker/${name}`, import.meta.url));

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
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').trimEnd();
  const mode = (name: string) => statSync(join(folder, name)).mode & 0o777;
  const provide = (env?: Record<string, string>) => run(script('credentials.mjs'), [folder], env);

  it('should make a database password, and no access token, for those who need it alone, and not show it', async () => {
    const { code, output } = await provide();

    expect(code).toBe(0);
    expect(readdirSync(folder)).toEqual(['database-password']);
    const password = read('database-password');
    expect(password).toMatch(/^[\w-]{43}$/);
    expect(mode('database-password')).toBe(0o440);
    expect(output).not.toContain(password);
  });

  it('should keep the database password that is there, and take what is given', async () => {
    await provide();
    const made = read('database-password');
    await provide();
    expect(read('database-password')).toBe(made);

    await provide({ DATABASE_PASSWORD: 'my own', DATABASE_PASSWORD_FILE: '' });
    expect(read('database-password')).toBe('my own');
    await provide();
    expect(read('database-password')).toBe('my own');
  });

  it.each(['ACCESS_TOKENS', 'ACCESS_TOKENS_FILE'])(
    'should have static access tokens as long as %s gives them',
    async (name) => {
      const own = join(folder, 'own');
      writeFileSync(own, 'my-own-token-my-own-token\n');
      const given = { [name]: name.endsWith('_FILE') ? own : 'my-own-token-my-own-token' };
      const { code, output } = await provide(given);

      expect(code).toBe(0);
      expect(read('access-tokens')).toBe('my-own-token-my-own-token');
      expect(mode('access-tokens')).toBe(0o400);
      expect(output).not.toContain('my-own');

      await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
      expect(readdirSync(folder).sort()).toEqual(['database-password', 'own']);
    },
  );

  it('should remove the token that earlier versions made', async () => {
    writeFileSync(join(folder, 'access-token'), 'made\n', { mode: 0o400 });
    expect(await provide()).toMatchObject({ code: 0 });
    expect(readdirSync(folder)).toEqual(['database-password']);
  });

  it('should name every fault at once, and then write nothing', async () => {
    const { code, output } = await provide({
      DATABASE_PASSWORD: 'my own',
      DATABASE_PASSWORD_FILE: script('none'),
      ACCESS_TOKENS_FILE: script('none'),
    });

    expect(code).toBe(1);
    expect(output).toBe(
      'DATABASE_PASSWORD: is set, and so is DATABASE_PASSWORD_FILE: should be one of the two\n' +
        'ACCESS_TOKENS_FILE: is empty, should be a file that holds the secret\n',
    );
    expect(readdirSync(folder)).toEqual([]);
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

  it('should fail where nobody answers', async () => {
    const { code, output } = await run(script('healthcheck.mjs'), [], { MANAGEMENT_PORT: '1' });

    expect(code).toBe(1);
    expect(output).toContain('ECONNREFUSED');
  });
});
