import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';

const SCRIPT = fileURLToPath(new URL('process-changes.mjs', import.meta.url));
/** What every process has that loads Prisma's client. */
const OF_PRISMA = ['DEBUG', 'DEBUG_COLORS', 'NODE_CLIENT', 'PRISMA_WASM_PANIC_REGISTRY'].map(
  (it) => `globalThis.${it}`,
);

describe('a process in which the store is a guest', () => {
  it.each([
    ['keep its globals, prototypes, listeners, environment, and what libraries share', [], OF_PRISMA],
    ['be seen to change if something does', ['spoiled'], ['BigInt.prototype.toJSON', ...OF_PRISMA]],
  ])('should %s', async (_, spoiled, changed) => {
    const database = await createTestDatabase();
    // It resolves when the process has ended: nothing of the store may keep it alive.
    const run = promisify(execFile)(process.execPath, [SCRIPT, database.url, TOKEN, ...spoiled], {
      env: { PATH: process.env.PATH },
      timeout: 50_000,
    });
    const { stdout } = await run.finally(() => database.drop());
    expect(JSON.parse(stdout)).toEqual([404, 404, 200, 400, changed, changed]);
  });
});
