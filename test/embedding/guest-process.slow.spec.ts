import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { TOKEN } from '../support/http/request.js';

const SCRIPT = fileURLToPath(new URL('../support/host/process-changes.mjs', import.meta.url));

/** What every process has that loads Prisma's client. */
const OF_PRISMA = [
  'PRISMA_WASM_PANIC_REGISTRY.set_message',
  'globalThis.DEBUG',
  'globalThis.DEBUG_COLORS',
  'globalThis.NODE_CLIENT',
  'globalThis.PRISMA_WASM_PANIC_REGISTRY',
];

interface Report {
  answers: unknown[];
  logged: string[];
  imported: string[];
  listening: string[];
  closed: string[];
  readers: string[];
}

describe.each(PLATFORMS)('a process in which the store is a guest, on %s', (platform) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  /** Resolves when the process has ended: nothing of the store may keep it alive. */
  async function report(...spoiled: string[]): Promise<Report> {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [SCRIPT, platform, database.url, TOKEN, ...spoiled],
      { env: { PATH: process.env.PATH }, timeout: 50_000 },
    );
    // What the store has to log it gives to the host's logger.
    expect(stderr).toBe('');
    return JSON.parse(stdout) as Report;
  }

  it('should keep its globals, listeners, environment, and the state of the libraries that both use', async () => {
    expect(await report()).toEqual({
      answers: ['1', 200, 400, 50000],
      logged: ['error of ApiExceptionFilter'],
      imported: OF_PRISMA,
      listening: OF_PRISMA,
      closed: OF_PRISMA,
      readers: [],
    });
  });

  it('should be seen to change if something does', async () => {
    expect((await report('spoiled')).listening).toContain('BigInt.prototype.toJSON');
  });
});
