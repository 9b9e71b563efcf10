import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { portOf } from '../support/http/free-port.js';
import { PlantStoreProcess } from '../support/service/process.js';

const OWN = 'my-own-secret-my-own-secret';
const DATABASE_FILES = ['shared/database-password', 'owners/database-password'];

describe('A script of a deployment', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plant-store-scripts-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const run = async (name: string, args: string[], variables: Record<string, string> = {}): Promise<unknown[]> => {
    const { ended, output } = await PlantStoreProcess.run(args, variables, { script: resolve('deploy/docker', name) });
    return [await ended, output];
  };
  const provide = (variables?: Record<string, string>): Promise<unknown[]> =>
    run('credentials.mjs', [join(folder, 'shared'), join(folder, 'owners')], variables);
  /** The mode of a file, and the secret in it. */
  const secretIn = (name: string): [number, string] => {
    const path = join(folder, name);
    return [statSync(path).mode & 0o777, readFileSync(path, 'utf8').trimEnd()];
  };

  it('should make two database passwords once, for those who need them alone, and not show them', async () => {
    for (const name of ['shared', 'owners']) mkdirSync(join(folder, name));
    const [code, output] = await provide();
    expect(code).toBe(0);
    const made = DATABASE_FILES.map(secretIn);
    for (const [mode, password] of made) {
      expect([mode, password]).toEqual([0o440, expect.stringMatching(/^[\w-]{43}$/)]);
      expect(output).not.toContain(password);
    }
    expect(made[0]).not.toEqual(made[1]);

    // Static access tokens stay as long as they are given, passwords for ever.
    const given = { DATABASE_PASSWORD: 'my own', ACCESS_TOKENS_FILE: write('own', `\ufeff${OWN}\n`) };
    expect(await provide(given)).toEqual([0, expect.not.stringContaining(OWN)]);
    expect(secretIn('shared/access-tokens')).toEqual([0o400, OWN]);
    await provide({ ACCESS_TOKENS: '', ACCESS_TOKENS_FILE: '' });
    expect(DATABASE_FILES.map(secretIn)).toEqual([[0o440, 'my own'], made[1]]);
    expect(() => secretIn('shared/access-tokens')).toThrow('ENOENT');
  });

  it('should name every fault of the given secrets at once', async () => {
    const given = { DATABASE_PASSWORD: OWN, DATABASE_PASSWORD_FILE: 'any', ACCESS_TOKENS_FILE: '/dev/null' };
    const [code, output] = await provide({ ...given, MIGRATION_DATABASE_PASSWORD_FILE: join(folder, 'none') });
    expect(code).toBe(1);
    expect(output).toMatch(/^DATABASE_PASSWORD: is set, and so is DATABASE_PASSWORD_FILE/m);
    expect(output).toMatch(/^MIGRATION_DATABASE_PASSWORD_FILE: cannot be read \(ENOENT\)/m);
    expect(output).toMatch(/^ACCESS_TOKENS_FILE: is empty/m);
  });

  it('should turn the status of /readyz into its exit code, and fail without an answer', async () => {
    let status = 200;
    const server = createServer((request, response) => {
      response.writeHead(status).end(`asked for ${String(request.url)}`);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    // Node.js 24 would ask a proxy, and there is none.
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
    const variables = { MANAGEMENT_PORT: String(portOf(server)), MANAGEMENT_HOST: '0.0.0.0', ...proxy };
    const check = (): Promise<unknown[]> => run('healthcheck.mjs', [], variables);
    expect(await check()).toEqual([0, 'asked for /readyz']);
    status = 503;
    expect(await check()).toEqual([1, 'asked for /readyz']);
    server.close();
    expect(await check()).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
  });
});
