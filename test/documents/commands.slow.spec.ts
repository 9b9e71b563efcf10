import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type Block, blocksRunBy } from '../support/documents/blocks.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const ID = '9007199254740993';
const blocks = blocksRunBy('test/documents/commands.slow.spec.ts');
const programs = ['bash', 'curl', 'jq', 'psql', 'ss'];
const missing = programs.filter((name) => spawnSync('which', [name]).status !== 0);

describeWith(
  missing.length > 0 ? `${missing.join(' and ')} cannot be found.` : undefined,
  'The commands of the pages',
  () => {
    let folder: string;
    let database: TestDatabase;
    let service: PlantStoreProcess;
    let managementPort: number;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'plant-store-commands-'));
      database = await createTestDatabase();
      managementPort = await freePort();
      service = await PlantStoreProcess.serve(database.url, {
        MANAGEMENT_PORT: `${managementPort}`,
        LOG_LEVEL: 'info',
      });
      await writeFile(join(folder, 'plant-store'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
      await chmod(join(folder, 'plant-store'), 0o755);
      // What the log and the metrics have to show: a plant, its repetition, a wrong token, a failure, a warning.
      for (const token of [TOKEN, TOKEN, 'a-wrong-token-of-a-client']) await create(token);
      await database.query('ALTER TABLE plants RENAME TO lost_plants');
      await create(TOKEN);
      await database.query('ALTER TABLE lost_plants RENAME TO plants');
      await until(() => Promise.resolve(service.stdout.includes('"error":50000')));
      await writeFile(join(folder, 'log'), service.stdout);
      await run('store token create listed');
    });
    afterAll(async () => {
      await service[Symbol.asyncDispose]();
      await database.drop();
      await rm(folder, { recursive: true });
    });

    async function create(token: string): Promise<void> {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const body = `{"id":${ID},"name":"Rose"}`;
      await fetch(`http://127.0.0.1:${service.port}/plants`, { method: 'POST', headers, body });
    }

    /** Runs a script as a user does who has pasted the functions of the runbook. */
    function run(script: string): Promise<{ stdout: string; stderr: string }> {
      const functions = `
      store() { plant-store "$@"; }
      manage() { curl -s -w '\\n' "http://127.0.0.1:${managementPort}/$1"; }
      sql() { psql -X '${database.url}' "$@"; }
      logs() { cat log; }
    `;
      const { PATH = '', HOME } = process.env;
      const env = { PATH: `${folder}:${PATH}`, HOME, DATABASE_URL: database.url, PAGER: 'cat' };
      return new Promise((resolve) => {
        execFile('bash', ['-c', `${functions}\n${script}`], { cwd: folder, env }, (_, stdout, stderr) => {
          resolve({ stdout, stderr });
        });
      });
    }

    function block(page: string, words: string): string {
      const found = blocks.find((each: Block) => each.page === page && each.code.includes(words));
      if (!found) throw new Error(`${page} has no block with ${words} that is run here.`);
      return found.code;
    }

    it.each(blocks.filter(({ page }) => page === 'docs/runbook.md').map(({ code }) => code))(
      'should run, and complain of nothing: %s',
      async (code) => {
        const { stdout, stderr } = await run(code);
        // What psql says if no role and no database has a setting.
        expect(stderr.replace('Did not find any settings.\n', '')).toBe('');
        // No answer of 50300 is in this log.
        if (!code.includes('50300')) expect(stdout).not.toBe('');
      },
    );

    it('should get the answer of the page on errors', async () => {
      const documented = JSON.parse(block('docs/errors.md', '40901')) as { error: number; message: string };
      await run(`curl -s -o answer -H 'Authorization: Bearer ${TOKEN}' -H 'Content-Type: application/json' \
      -d '{"id": 5, "name": "Rose"}' http://127.0.0.1:${service.port}/plants`);
      const { stdout } = await run(`curl -s -H 'Authorization: Bearer ${TOKEN}' -H 'Content-Type: application/json' \
      -d '{"id": 5, "name": "Rose"}' http://127.0.0.1:${service.port}/plants`);
      expect(JSON.parse(stdout)).toEqual(documented);
    });

    it('should create, rotate and revoke tokens', async () => {
      const { stdout, stderr } = await run(
        `set -e\n${block('docs/authentication.md', 'token create shop')}\necho "$TOKEN"`,
      );
      expect(stdout).toMatch(/^plant_\w{38}$/m);
      expect(stderr).not.toContain('plant-store: ');
    });

    it('should read the log', async () => {
      const [first = '', ...rest] = block('docs/observability.md', 'jq -s').split('\n');
      expect(first).toContain('>log');
      const { stdout, stderr } = await run(rest.join('\n'));
      expect(stderr).toBe('');
      expect(stdout).toMatch(/"error": 40101,[^]*1 127\.0\.0\.1/);
    });
  },
);
