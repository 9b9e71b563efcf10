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
  const secrets = () =>
    ['database-password', 'access-token'].map((name) => readFileSync(join(folder, name), 'utf8').trimEnd());
  const provide = (env?: Record<string, string>) => run(script('credentials.mjs'), [folder], env);

  it('should make secrets that differ, for those who need them alone, and show none', async () => {
    const { code, output } = await provide();

    expect(code).toBe(0);
    const [password = '', token = ''] = secrets();
    expect(password).toMatch(/^[\w-]{43}$/);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(password).not.toBe(token);
    expect(statSync(join(folder, 'database-password')).mode & 0o777).toBe(0o440);
    expect(statSync(join(folder, 'access-token')).mode & 0o777).toBe(0o400);
    expect(output).not.toContain(password);
    expect(output).not.toContain(token);
  });

  it('should keep what is there, and take what is given', async () => {
    await provide();
    const made = secrets();
    await provide();
    expect(secrets()).toEqual(made);

    const own = join(folder, 'own');
    writeFileSync(own, 'my-own-token-my-own-token\n');
    await provide({ DATABASE_PASSWORD: 'my own', ACCESS_TOKENS_FILE: own, DATABASE_PASSWORD_FILE: '' });
    expect(secrets()).toEqual(['my own', 'my-own-token-my-own-token']);

    await provide();
    expect(secrets()).toEqual(['my own', 'my-own-token-my-own-token']);
    expect(readdirSync(folder).sort()).toEqual(['access-token', 'database-password', 'own']);
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
